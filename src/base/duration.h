#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"

namespace activescale::base {

/// Parses a duration as Go's time.ParseDuration does: "20s", "1m30s", "1.5h", "300ms", "0".
/// Negative values and overflow are refused: no setting of ours takes them.
/// Errors: kInvalidArgument, with the text and an example.
[[nodiscard]] Result<std::chrono::nanoseconds> ParseDuration(std::string_view text);

/// The shortest form that ParseDuration reads back to the same value: "1m30s", "20s", "1.5s".
[[nodiscard]] std::string FormatDuration(std::chrono::nanoseconds duration);

}  // namespace activescale::base
