#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "metric/labels.h"

namespace re2 {
class RE2;
}  // namespace re2

namespace activescale::series {

/// The label that holds a series' metric name.
inline constexpr std::string_view kNameLabel = "__name__";

/// One condition on a label of a series: `job="a"`, `job!="a"`, `job=~"a.*"`, `job!~"a.*"`.
/// A label that is absent has the value "". Regular expressions are anchored at both ends, `.`
/// matches a newline too, and time is linear in the value's length. Copies share the expression.
/// Source: prometheus/prometheus:model/labels/matcher.go, regexp.go.
class Matcher {
 public:
  enum class Op : uint8_t { kEqual, kNotEqual, kMatch, kNotMatch };

  /// Errors: kInvalidArgument: the regular expression does not compile or is too large.
  [[nodiscard]] static base::Result<Matcher> Make(Op op, std::string label, std::string value);

  [[nodiscard]] bool Matches(std::string_view value) const;
  [[nodiscard]] bool MatchesLabels(const metric::Labels& labels) const;

  [[nodiscard]] Op op() const { return op_; }
  [[nodiscard]] const std::string& label() const { return label_; }
  [[nodiscard]] const std::string& value() const { return value_; }
  /// As written in a query, with the value quoted.
  [[nodiscard]] std::string ToString() const;

 private:
  Matcher(Op op, std::string label, std::string value, std::shared_ptr<const re2::RE2> pattern)
      : op_(op), label_(std::move(label)), value_(std::move(value)), pattern_(std::move(pattern)) {}

  Op op_;
  std::string label_;
  std::string value_;
  std::shared_ptr<const re2::RE2> pattern_;
};

/// All conditions must hold.
using Matchers = std::vector<Matcher>;

[[nodiscard]] bool MatchesAll(const Matchers& matchers, const metric::Labels& labels);

}  // namespace activescale::series
