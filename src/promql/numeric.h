#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>

namespace activescale::promql {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A sum that keeps what rounding takes away (Neumaier's form of Kahan's summation).
class CompensatedSum {
 public:
  CompensatedSum() = default;
  explicit CompensatedSum(double first) : sum_(first) {}

  void Add(double value) {
    const double sum = sum_ + value;
    if (std::isinf(sum)) {
      lost_ = 0;
    } else if (std::abs(sum_) >= std::abs(value)) {
      lost_ += (sum_ - sum) + value;
    } else {
      lost_ += (value - sum) + sum_;
    }
    sum_ = sum;
  }
  void Scale(double factor) {
    sum_ *= factor;
    lost_ *= factor;
  }
  [[nodiscard]] double rough() const { return sum_; }
  [[nodiscard]] double lost() const { return lost_; }
  [[nodiscard]] double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

/// An average that neither loses digits nor overflows while the average itself does not.
class CompensatedMean {
 public:
  void Add(double value);
  [[nodiscard]] double value() const;

 private:
  CompensatedSum sum_;
  CompensatedSum mean_;  // from the first value on that would make the sum overflow
  double count_ = 0;
  bool incremental_ = false;
};

/// Population variance by Welford's method.
class Variance {
 public:
  void Add(double value);
  [[nodiscard]] double value() const { return squares_.value() / count_; }

 private:
  double count_ = 0;
  CompensatedSum mean_;
  CompensatedSum squares_;
};

/// The q-quantile, interpolated between neighbours; `values` is put in order, NaN first. NaN of
/// nothing or for q = NaN, -Inf for q < 0, +Inf for q > 1.
[[nodiscard]] double Quantile(double q, std::span<double> values);

/// A value as Prometheus's HTTP API writes it: 1, 0.5, 1e+21, 1e-07, NaN, +Inf, -Inf.
[[nodiscard]] std::string FormatValue(double value);
/// The same without an exponent, as count_values does.
[[nodiscard]] std::string FormatPlain(double value);

}  // namespace activescale::promql
