#include "metric/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <ranges>

#include "base/ascii.h"

namespace activescale::metric {
namespace {

constexpr double kLargestSample = 1e12;
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// A quantity's text, taken apart: sign, digits with an implied point, and the suffix's scale.
struct Parts {
  bool negative = false;
  std::string digits;    // without the point
  int64_t exponent = 0;  // value = digits * 10^exponent * 1024^binary_steps
  int binary_steps = 0;
};

struct Suffix {
  std::string_view text;
  int exponent;
  int binary_steps;
};

// Source: kubernetes/apimachinery:pkg/api/resource/suffix.go.
constexpr Suffix kSuffixes[] = {
    {"", 0, 0},   {"n", -9, 0}, {"u", -6, 0}, {"m", -3, 0}, {"k", 3, 0},  {"M", 6, 0},
    {"G", 9, 0},  {"T", 12, 0}, {"P", 15, 0}, {"E", 18, 0}, {"Ki", 0, 1}, {"Mi", 0, 2},
    {"Gi", 0, 3}, {"Ti", 0, 4}, {"Pi", 0, 5}, {"Ei", 0, 6},
};

bool ReadSuffix(std::string_view text, Parts& parts) {
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.text != text) continue;
    parts.exponent += suffix.exponent;
    parts.binary_steps = suffix.binary_steps;
    return true;
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return false;
  text.remove_prefix(1);
  const bool plus = text[0] == '+';
  if (plus) text.remove_prefix(1);
  if (plus && text.starts_with('-')) return false;
  int32_t exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  parts.exponent += exponent;
  return true;
}

// Kubernetes takes a number without any digit (".", "-", "m") for zero; so do we.
std::optional<Parts> Split(std::string_view text) {
  if (text.empty()) return std::nullopt;
  Parts parts;
  if (text.starts_with('-') || text.starts_with('+')) {
    parts.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  const auto take_digits = [&] {
    size_t count = 0;
    while (count < text.size() && base::IsDigit(text[count])) ++count;
    parts.digits += text.substr(0, count);
    text.remove_prefix(count);
    return static_cast<int64_t>(count);
  };
  take_digits();
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    parts.exponent -= take_digits();
  }
  if (!ReadSuffix(text, parts)) return std::nullopt;
  return parts;
}

// In decimal, so that no precision is lost whatever the length.
void MultiplyBy1024(std::string& digits) {
  int carry = 0;
  for (char& digit : digits | std::views::reverse) {
    carry += (digit - '0') * 1024;
    digit = static_cast<char>('0' + carry % 10);
    carry /= 10;
  }
  digits.insert(0, fmt::format("{}", carry));
}

// digits * 10^exponent in whole numbers, rounded up, capped at int64's largest.
int64_t RoundUpCapped(std::string_view digits, int64_t exponent) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return 0;
  const int64_t whole_digits = static_cast<int64_t>(digits.size()) + exponent;
  if (whole_digits > 19) return kMax;
  int64_t value = 0;
  for (int64_t i = 0; i < whole_digits; ++i) {
    const auto at = static_cast<size_t>(i);
    const int digit = at < digits.size() ? digits[at] - '0' : 0;
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value)) {
      return kMax;
    }
  }
  const std::string_view dropped = digits.substr(static_cast<size_t>(
      std::clamp<int64_t>(whole_digits, 0, static_cast<int64_t>(digits.size()))));
  const bool inexact = dropped.find_first_not_of('0') != std::string_view::npos;
  return inexact && value < kMax ? value + 1 : value;
}

}  // namespace

std::optional<Quantity> Quantity::FromSample(double value) {
  if (!(value >= 0 && value <= kLargestSample)) return std::nullopt;
  return Quantity(std::llround(value * 1000));
}

base::Result<Quantity> Quantity::Parse(std::string_view text) {
  auto parts = Split(text);
  if (!parts) {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("\"{}\" is not a quantity: write for example 5, 2.5, 500m, 3k or "
                                  "1Gi",
                                  text));
  }
  for (int i = 0; i < parts->binary_steps; ++i) MultiplyBy1024(parts->digits);
  const int64_t milli = RoundUpCapped(parts->digits, parts->exponent + 3);
  return Quantity(parts->negative ? -milli : milli);
}

std::string Quantity::ToString() const {
  return milli_ % 1000 == 0 ? fmt::format("{}", milli_ / 1000) : fmt::format("{}m", milli_);
}

Quantity Quantity::SaturatingAdd(Quantity other, bool* saturated) const {
  int64_t sum = 0;
  if (!__builtin_add_overflow(milli_, other.milli_, &sum)) return Quantity(sum);
  if (saturated != nullptr) *saturated = true;
  return Quantity(milli_ < 0 ? std::numeric_limits<int64_t>::min() : kMax);
}

}  // namespace activescale::metric
