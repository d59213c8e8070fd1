#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "series/series.h"

namespace activescale::signal {

/// All samples of a series in words: "3@0 4@5 end@10 ", seconds since `start_ms`.
inline std::string SampleText(const series::Series& series, int64_t start_ms) {
  std::string text;
  series.ForEach(series::kMinTime, series::kMaxTime, [&](series::Sample sample) {
    const std::string value =
        series::IsStaleMarker(sample.value) ? "end" : fmt::format("{}", sample.value);
    text += fmt::format("{}@{:g} ", value, static_cast<double>(sample.time_ms - start_ms) / 1000);
  });
  return text;
}

}  // namespace activescale::signal
