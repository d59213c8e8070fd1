#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "promql/dialect.h"

namespace activescale::promql {

[[nodiscard]] bool EqualsIgnoringCase(std::string_view a, std::string_view b);

/// A number as a query writes it: 1, 0x1f, 017 (octal), 1_000, 1e3, .5, Inf, NaN.
/// Nothing if it is none, or too large for a double.
/// Source: Go's strconv.ParseInt with base 0, then strconv.ParseFloat.
[[nodiscard]] std::optional<double> ParseNumber(std::string_view text);

/// The same without bases and underscores: 1, 010 (ten), 1e3, .5, Inf, NaN.
[[nodiscard]] std::optional<double> ParseDecimal(std::string_view text);

/// A duration such as 1h30m or 250ms in nanoseconds: units y, w, d, h, m, s, ms, each at most once,
/// from large to small. Nothing if it is none, or beyond 292 years.
/// Source: prometheus/common:model/time.go.
[[nodiscard]] std::optional<int64_t> ParseDurationNs(std::string_view text);

/// The text inside of quotes ("", '' or ``), escapes replaced.
/// Errors: kInvalidArgument: an unknown or broken escape, or text that is not UTF-8.
[[nodiscard]] base::Result<std::string> Unquote(std::string_view quoted);

[[nodiscard]] bool IsUtf8(std::string_view text);
/// Whether a label may have this name: any UTF-8 text in Prometheus 3, [a-zA-Z_][a-zA-Z0-9_]* in 2.
[[nodiscard]] bool IsLabelName(std::string_view name, Dialect dialect);

}  // namespace activescale::promql
