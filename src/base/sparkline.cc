#include "base/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace activescale::base {

std::string Sparkline(std::span<const double> values, double most) {
  constexpr std::array<std::string_view, 9> kBars = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string line;
  for (const double value : values) {
    const double level = most > 0 && value > 0 ? std::ceil(value / most * 8) : 0;
    line += kBars[static_cast<size_t>(std::min(level, 8.0))];
  }
  return line;
}

}  // namespace activescale::base
