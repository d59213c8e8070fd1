#include "queryapi/parameters.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <variant>

#include "base/unix_time.h"
#include "promql/literal.h"
#include "promql/parser.h"

namespace activescale::queryapi {
namespace {

using base::Code;
using base::Fail;

// Seconds whose milliseconds still fit.
constexpr double kMaxSeconds = 9.2e15;

std::optional<int64_t> FromSeconds(double seconds) {
  if (std::isnan(seconds) || std::abs(seconds) > kMaxSeconds) return std::nullopt;
  return std::llround(seconds * base::kMsPerSecond);
}

std::optional<int64_t> ParseWhole(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (error != std::errc() || end != text.end()) return std::nullopt;
  return value;
}

std::optional<double> ParseSeconds(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto seconds = promql::ParseDecimal(text.substr(negative ? 1 : 0));
  return seconds && negative ? -*seconds : seconds;
}

/// Takes `digits` digits and the byte `after` (0: none) off the front.
std::optional<int> TakeNumber(std::string_view& text, size_t digits, char after) {
  const size_t length = digits + (after == 0 ? 0 : 1);
  if (text.size() < length || (after != 0 && text[digits] != after)) return std::nullopt;
  int value = 0;
  const char* const begin = text.begin();
  const auto [end, error] = std::from_chars(begin, begin + digits, value);
  if (error != std::errc() || end != begin + digits || value < 0) return std::nullopt;
  text.remove_prefix(length);
  return value;
}

/// Takes a fraction of a second off the front, if there is one; false if it has no digits.
bool TakeFraction(std::string_view& text, int64_t& ms) {
  if (!text.starts_with('.')) return true;
  text.remove_prefix(1);
  int64_t scale = 100;
  size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    ms += (text[digits] - '0') * scale;
    scale /= 10;
  }
  text.remove_prefix(digits);
  return digits > 0;
}

/// The zone at the end, as seconds east.
std::optional<int> ParseZone(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (!text.starts_with('+') && !text.starts_with('-')) return std::nullopt;
  const int sign = text[0] == '+' ? 1 : -1;
  text.remove_prefix(1);
  const auto hours = TakeNumber(text, 2, ':');
  const auto minutes = TakeNumber(text, 2, 0);
  if (!hours || !minutes || !text.empty() || *hours > 24 || *minutes > 59) return std::nullopt;
  return sign * (*hours * 3600 + *minutes * 60);
}

/// Source: RFC 3339, as Go's time.RFC3339Nano.
std::optional<int64_t> ParseRfc3339(std::string_view text) {
  const auto year = TakeNumber(text, 4, '-');
  const auto month = TakeNumber(text, 2, '-');
  const auto day = TakeNumber(text, 2, 'T');
  const auto hour = TakeNumber(text, 2, ':');
  const auto minute = TakeNumber(text, 2, ':');
  const auto second = TakeNumber(text, 2, 0);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  if (*hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  int64_t ms = 0;
  if (!date.ok() || !TakeFraction(text, ms)) return std::nullopt;
  const auto zone = ParseZone(text);
  if (!zone) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (days * 86'400 + *hour * 3600 + *minute * 60 + *second - *zone) * base::kMsPerSecond + ms;
}

base::Error Invalid(std::string_view name, std::string_view text, std::string_view kind) {
  return {Code::kInvalidArgument, fmt::format("invalid parameter \"{}\": cannot parse \"{}\" to a "
                                              "valid {}",
                                              name, text, kind)};
}

base::Result<int64_t> Parameter(const Form& form, std::string_view name,
                                std::optional<int64_t> fallback, std::string_view kind,
                                std::optional<int64_t> (*parse)(std::string_view)) {
  const auto text = form.Find(name);
  if (!text && fallback) return *fallback;
  const auto value = parse(text.value_or(""));
  if (!value) return std::unexpected(Invalid(name, text.value_or(""), kind));
  return *value;
}

}  // namespace

std::optional<int64_t> ParseTimeMs(std::string_view text) {
  if (const auto seconds = ParseSeconds(text)) return FromSeconds(*seconds);
  return ParseRfc3339(text);
}

std::optional<int64_t> ParseLengthMs(std::string_view text) {
  if (const auto seconds = ParseSeconds(text)) return FromSeconds(*seconds);
  const auto ns = promql::ParseDurationNs(text);
  if (!ns) return std::nullopt;
  return *ns / base::kNsPerMs;
}

base::Result<int64_t> TimeParameter(const Form& form, std::string_view name,
                                    std::optional<int64_t> fallback) {
  return Parameter(form, name, fallback, "timestamp", ParseTimeMs);
}

base::Result<int64_t> LengthParameter(const Form& form, std::string_view name,
                                      std::optional<int64_t> fallback) {
  return Parameter(form, name, fallback, "duration", ParseLengthMs);
}

base::Result<int64_t> CountParameter(const Form& form, std::string_view name) {
  const auto text = form.Find(name);
  if (!text) return 0;
  const auto value = ParseWhole(*text);
  if (!value || *value < 0) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("invalid parameter \"{}\": \"{}\" is not a number from 0 on", name, *text));
  }
  return *value;
}

base::Result<int64_t> LimitParameter(const Form& form, std::string_view name) {
  const auto text = form.Find(name);
  if (!text) return -1;
  const auto value = ParseWhole(text->starts_with('+') ? text->substr(1) : *text);
  if (!value) return Fail(Code::kInvalidArgument, fmt::format("{} must be a number", name));
  return *value;
}

base::Result<series::Matchers> ParseSelector(std::string_view text, promql::Dialect dialect) {
  auto expr = promql::Parse(text, dialect);
  if (!expr) {
    return Fail(expr.error().code,
                fmt::format("invalid parameter \"match[]\": {}", expr.error().message));
  }
  auto* const selector = std::get_if<promql::VectorSelector>(&(*expr)->node);
  if (selector == nullptr || selector->shift.offset_ns != 0 ||
      selector->shift.at.kind != promql::AtModifier::Kind::kNone) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("invalid parameter \"match[]\": \"{}\" is not a series selector alone", text));
  }
  return std::move(selector->matchers);
}

}  // namespace activescale::queryapi
