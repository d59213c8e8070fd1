#include "promql/numeric.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace activescale::promql {
namespace {

/// The fewest digits that read back to the value, in scientific form: d.ddde+xx. Finite values
/// only.
std::string Scientific(double value) {
  std::array<char, 32> buffer;
  const auto result =
      std::to_chars(buffer.begin(), buffer.end(), value, std::chars_format::scientific);
  return {buffer.data(), result.ptr};
}

std::string NameOfOdd(double value) {
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}

}  // namespace

void CompensatedMean::Add(double value) {
  count_ += 1;
  if (count_ == 1) {
    sum_ = CompensatedSum(value);
    return;
  }
  if (!incremental_) {
    CompensatedSum next = sum_;
    next.Add(value);
    if (!std::isinf(next.rough())) {
      sum_ = next;
      return;
    }
    incremental_ = true;
    mean_ = sum_;
    mean_.Scale(1 / (count_ - 1));
  }
  mean_.Scale((count_ - 1) / count_);
  mean_.Add(value / count_);
}

double CompensatedMean::value() const {
  if (incremental_) return mean_.value();
  return sum_.rough() / count_ + sum_.lost() / count_;
}

void Variance::Add(double value) {
  count_ += 1;
  const double delta = value - mean_.value();
  mean_.Add(delta / count_);
  squares_.Add(delta * (value - mean_.value()));
}

double Quantile(double q, std::span<double> values) {
  if (values.empty() || std::isnan(q)) return std::numeric_limits<double>::quiet_NaN();
  if (q < 0) return -kInfinity;
  if (q > 1) return kInfinity;
  std::ranges::sort(values,
                    [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a < b; });
  const double rank = q * static_cast<double>(values.size() - 1);
  const auto lower = static_cast<size_t>(std::floor(rank));
  const size_t upper = std::min(values.size() - 1, lower + 1);
  const double weight = rank - std::floor(rank);
  return values[lower] * (1 - weight) + values[upper] * weight;
}

std::string FormatValue(double value) {
  constexpr double kSmallestPlain = 1e-6;
  constexpr double kLargestPlain = 1e21;
  const double size = std::abs(value);
  const bool plain = size == 0 || (size >= kSmallestPlain && size < kLargestPlain);
  return plain || !std::isfinite(value) ? FormatPlain(value) : Scientific(value);
}

std::string FormatPlain(double value) {
  if (!std::isfinite(value)) return NameOfOdd(value);
  // Not to_chars' fixed form, which writes all digits of large values, also those that say nothing.
  std::string digits = Scientific(std::abs(value));
  const size_t e = digits.find('e');
  const int exponent = std::stoi(digits.substr(e + 1));
  digits.resize(e);
  std::erase(digits, '.');
  const auto whole = static_cast<size_t>(std::max(exponent + 1, 0));
  std::string out = std::signbit(value) ? "-" : "";
  if (whole == 0) {
    out += "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  } else if (digits.size() <= whole) {
    out += digits + std::string(whole - digits.size(), '0');
  } else {
    out += digits.substr(0, whole) + "." + digits.substr(whole);
  }
  return out;
}

}  // namespace activescale::promql
