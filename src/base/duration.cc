#include "base/duration.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/ascii.h"

namespace activescale::base {
namespace {

struct Unit {
  std::string_view name;
  int64_t nanoseconds;
};

// Longer names before their own beginnings ("ms" before "m"). Both code points of the micro sign.
// Source: golang/go:src/time/format.go, unitMap.
constexpr std::array<Unit, 8> kUnits = {{{"ns", 1},
                                         {"us", 1'000},
                                         {"\xc2\xb5s", 1'000},
                                         {"\xce\xbcs", 1'000},
                                         {"ms", 1'000'000},
                                         {"s", 1'000'000'000},
                                         {"m", 60'000'000'000},
                                         {"h", 3'600'000'000'000}}};

// One number of a duration: digits, or digits with a fraction.
struct Number {
  int64_t whole = 0;
  int64_t fraction = 0;  // over `scale`; digits beyond int64 are below a nanosecond
  double scale = 1;
};

// Takes a number from the front of `text`; nothing if there is none or it overflows.
std::optional<Number> TakeNumber(std::string_view& text) {
  Number number;
  size_t digits = 0;
  for (; !text.empty() && IsDigit(text[0]); text.remove_prefix(1), ++digits) {
    if (__builtin_mul_overflow(number.whole, 10, &number.whole) ||
        __builtin_add_overflow(number.whole, text[0] - '0', &number.whole)) {
      return std::nullopt;
    }
  }
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    for (; !text.empty() && IsDigit(text[0]); text.remove_prefix(1), ++digits) {
      if (number.fraction > (std::numeric_limits<int64_t>::max() - 9) / 10) continue;
      number.fraction = number.fraction * 10 + (text[0] - '0');
      number.scale *= 10;
    }
  }
  if (digits == 0) return std::nullopt;
  return number;
}

const Unit* TakeUnit(std::string_view& text) {
  for (const Unit& unit : kUnits) {
    if (!text.starts_with(unit.name)) continue;
    text.remove_prefix(unit.name.size());
    return &unit;
  }
  return nullptr;
}

std::optional<int64_t> Nanoseconds(const Number& number, const Unit& unit) {
  int64_t total = 0;
  if (__builtin_mul_overflow(number.whole, unit.nanoseconds, &total)) return std::nullopt;
  const auto part = static_cast<int64_t>(static_cast<double>(number.fraction) *
                                         (static_cast<double>(unit.nanoseconds) / number.scale));
  if (__builtin_add_overflow(total, part, &total)) return std::nullopt;
  return total;
}

std::optional<int64_t> Parse(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  int64_t total = 0;
  while (!text.empty()) {
    const auto number = TakeNumber(text);
    if (!number) return std::nullopt;
    const Unit* unit = TakeUnit(text);
    if (unit == nullptr) return std::nullopt;
    const auto part = Nanoseconds(*number, *unit);
    if (!part || __builtin_add_overflow(total, *part, &total)) return std::nullopt;
  }
  return total;
}

// `nanoseconds` in a unit, with as many decimals as it needs.
std::string InUnit(int64_t nanoseconds, int64_t unit, std::string_view name) {
  std::string text = fmt::format("{}", nanoseconds / unit);
  if (const int64_t rest = nanoseconds % unit; rest != 0) {
    std::string decimals = fmt::format("{}", unit + rest).substr(1);
    decimals.erase(decimals.find_last_not_of('0') + 1);
    text += "." + decimals;
  }
  return text.append(name);
}

}  // namespace

Result<std::chrono::nanoseconds> ParseDuration(std::string_view text) {
  if (const auto nanoseconds = Parse(text)) return std::chrono::nanoseconds(*nanoseconds);
  return Fail(Code::kInvalidArgument,
              fmt::format("\"{}\" is not a duration: write for example 20s, 1m30s, 1.5h or 300ms, "
                          "not negative, at most 292 years",
                          text));
}

std::string FormatDuration(std::chrono::nanoseconds duration) {
  constexpr int64_t kSecond = 1'000'000'000;
  int64_t rest = duration.count();
  if (rest == 0) return "0s";
  std::string text;
  if (const int64_t hours = rest / (3600 * kSecond); hours != 0) text += fmt::format("{}h", hours);
  rest %= 3600 * kSecond;
  if (const int64_t minutes = rest / (60 * kSecond); minutes != 0) {
    text += fmt::format("{}m", minutes);
  }
  rest %= 60 * kSecond;
  if (rest == 0) return text;
  if (rest >= kSecond) return text + InUnit(rest, kSecond, "s");
  if (rest >= 1'000'000) return text + InUnit(rest, 1'000'000, "ms");
  if (rest >= 1'000) return text + InUnit(rest, 1'000, "us");
  return text + InUnit(rest, 1, "ns");
}

}  // namespace activescale::base
