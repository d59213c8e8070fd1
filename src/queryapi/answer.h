#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace activescale::queryapi {

/// What a server of the query API answered, for people to read.
struct AnswerSeries {
  std::string name;                                    // as in a query: up{job="a"}
  std::vector<std::pair<double, std::string>> points;  // seconds since 1970, value as written
};
struct Answer {
  std::vector<AnswerSeries> series;  // a scalar or string is one without a name
  std::vector<std::string> warnings;
};

/// Errors: kInvalidArgument: the server's own error, or a text that is no answer.
[[nodiscard]] base::Result<Answer> ReadAnswer(std::string_view body);

/// One line a series: its value, or of several values the last, the least, the largest and a plot
/// of at most `width` columns.
[[nodiscard]] std::string AnswerTable(const Answer& answer, size_t width);

/// One line a value: series, time, value.
[[nodiscard]] std::string AnswerCsv(const Answer& answer);

}  // namespace activescale::queryapi
