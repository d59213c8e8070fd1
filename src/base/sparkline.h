#pragma once

#include <span>
#include <string>

namespace activescale::base {

/// Values as a line of bars, one character each: nothing at 0 and below, full at `most`.
[[nodiscard]] std::string Sparkline(std::span<const double> values, double most);

}  // namespace activescale::base
