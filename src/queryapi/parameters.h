#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "promql/dialect.h"
#include "queryapi/form.h"
#include "series/matcher.h"

namespace activescale::queryapi {

/// A moment as the API takes it: seconds since 1970 with a fraction, or RFC 3339; in milliseconds.
/// Source: prometheus/prometheus:web/api/v1/api.go, parseTime.
[[nodiscard]] std::optional<int64_t> ParseTimeMs(std::string_view text);

/// A length of time: seconds with a fraction, or 1h30m; in milliseconds.
[[nodiscard]] std::optional<int64_t> ParseLengthMs(std::string_view text);

/// The parameter read by one of the above; `fallback`, if there is one, when it is absent. Errors:
/// kInvalidArgument, in Prometheus's words.
[[nodiscard]] base::Result<int64_t> TimeParameter(const Form& form, std::string_view name,
                                                  std::optional<int64_t> fallback);
[[nodiscard]] base::Result<int64_t> LengthParameter(const Form& form, std::string_view name,
                                                    std::optional<int64_t> fallback);

/// A whole number from 0 on; 0 when it is absent.
[[nodiscard]] base::Result<int64_t> CountParameter(const Form& form, std::string_view name);

/// A whole number that may have a sign; -1 when it is absent.
[[nodiscard]] base::Result<int64_t> LimitParameter(const Form& form, std::string_view name);

/// A match[] parameter: one selector without range, offset and @.
[[nodiscard]] base::Result<series::Matchers> ParseSelector(std::string_view text,
                                                           promql::Dialect dialect);

}  // namespace activescale::queryapi
