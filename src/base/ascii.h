#pragma once

#include <string>
#include <string_view>

namespace activescale::base {

/// Of ASCII, whatever the locale.
[[nodiscard]] constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// ASCII letters in lower case, whatever the locale; other bytes stay as they are.
[[nodiscard]] constexpr char LowerChar(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] inline std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = LowerChar(c);
  return lower;
}

}  // namespace activescale::base
