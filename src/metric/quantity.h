#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace activescale::metric {

/// An amount in milli-units, written as a Kubernetes quantity. Never NaN, never infinite.
/// Arithmetic saturates at the ends of int64. A value type.
class Quantity {
 public:
  constexpr Quantity() = default;
  [[nodiscard]] static constexpr Quantity FromMilli(int64_t milli) { return Quantity(milli); }

  /// A sample's value, rounded to the nearest milli-unit. Nothing for NaN, infinite, negative and
  /// above 10^12: such samples are refused.
  [[nodiscard]] static std::optional<Quantity> FromSample(double value);

  /// Parses what Kubernetes accepts: sign, digits, one dot, suffix n u m k M G T P E, Ki..Ei, or a
  /// decimal exponent. More precision than a milli-unit rounds up (away from zero), as
  /// Quantity.MilliValue does; too large is capped. Errors: kInvalidArgument.
  /// Source: kubernetes/apimachinery:pkg/api/resource/quantity.go.
  [[nodiscard]] static base::Result<Quantity> Parse(std::string_view text);

  [[nodiscard]] constexpr int64_t milli() const { return milli_; }
  [[nodiscard]] double ToDouble() const { return static_cast<double>(milli_) / 1000.0; }
  /// "3", "2500m", "0": integers plain, fractions in milli-units.
  [[nodiscard]] std::string ToString() const;

  /// Adds, saturating; `*saturated` is set to true (never cleared) if it did.
  [[nodiscard]] Quantity SaturatingAdd(Quantity other, bool* saturated = nullptr) const;

  friend constexpr auto operator<=>(const Quantity&, const Quantity&) = default;

 private:
  constexpr explicit Quantity(int64_t milli) : milli_(milli) {}
  int64_t milli_ = 0;
};

}  // namespace activescale::metric
