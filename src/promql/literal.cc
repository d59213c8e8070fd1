#include "promql/literal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

#include "base/ascii.h"

namespace activescale::promql {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Underscores may stand between digits, and between a base's prefix and a digit.
std::optional<std::string> WithoutUnderscores(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    const auto digit = [&](size_t at) {
      return at < text.size() &&
             (base::IsDigit(text[at]) || (Lower(text[at]) >= 'a' && Lower(text[at]) <= 'f'));
    };
    const bool after_prefix = i == 2 && text[0] == '0' && Lower(text[1]) == 'x';
    if (i == 0 || !(digit(i - 1) || after_prefix) || !digit(i + 1)) return std::nullopt;
  }
  return out;
}

std::optional<double> ParseInteger(std::string_view digits) {
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0' && Lower(digits[1]) == 'x') {
    base = 16;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits[0] == '0') {
    base = 8;
    digits.remove_prefix(1);
  }
  int64_t value = 0;
  const char* const end = digits.end();
  const auto [at, error] = std::from_chars(digits.begin(), end, value, base);
  if (error != std::errc() || at != end || digits.empty() || digits[0] == '-') return std::nullopt;
  return static_cast<double>(value);
}

struct Unit {
  std::string_view name;
  int64_t ns;
};
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1000 * kMillisecond;
constexpr int64_t kDay = 86'400 * kSecond;
constexpr Unit kUnits[] = {{"y", 365 * kDay},     {"w", 7 * kDay},     {"d", kDay},
                           {"h", 3600 * kSecond}, {"m", 60 * kSecond}, {"s", kSecond},
                           {"ms", kMillisecond}};

void AppendUtf8(std::string& out, uint32_t point) {
  const auto put = [&out](uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xc0 | (point >> 6));
    put(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    put(0xe0 | (point >> 12));
    put(0x80 | ((point >> 6) & 0x3f));
    put(0x80 | (point & 0x3f));
  } else {
    put(0xf0 | (point >> 18));
    put(0x80 | ((point >> 12) & 0x3f));
    put(0x80 | ((point >> 6) & 0x3f));
    put(0x80 | (point & 0x3f));
  }
}

/// Takes one escape, without its backslash, off the front of `text`.
bool TakeEscape(std::string_view& text, char quote, std::string& out) {
  if (text.empty()) return false;
  const char c = text[0];
  constexpr std::string_view kNames = "abfnrtv\\";
  constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\";
  if (const size_t at = kNames.find(c); at != std::string_view::npos || c == quote) {
    out += c == quote ? quote : kValues[at];
    text.remove_prefix(1);
    return true;
  }
  const bool octal = c >= '0' && c <= '7';
  const size_t length = octal ? 3 : c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (!octal) text.remove_prefix(1);
  if (length == 0 || text.size() < length) return false;
  uint32_t value = 0;
  const char* const end = text.begin() + length;
  const auto [at, error] = std::from_chars(text.begin(), end, value, octal ? 8 : 16);
  if (error != std::errc() || at != end) return false;
  text.remove_prefix(length);
  const bool byte = octal || c == 'x';
  if (value > (byte ? 0xffU : 0x10ffffU) || (value >= 0xd800 && value < 0xe000)) return false;
  if (byte) {
    out += static_cast<char>(value);
  } else {
    AppendUtf8(out, value);
  }
  return true;
}

}  // namespace

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, Lower, Lower);
}

std::optional<double> ParseDecimal(std::string_view text) {
  if (EqualsIgnoringCase(text, "inf")) return std::numeric_limits<double>::infinity();
  if (EqualsIgnoringCase(text, "nan")) return std::numeric_limits<double>::quiet_NaN();
  // from_chars knows more names of infinity, and a sign.
  if (text.empty() || !(base::IsDigit(text[0]) || text[0] == '.')) return std::nullopt;
  double value = 0;
  const char* const end = text.end();
  const auto [at, error] = std::from_chars(text.begin(), end, value);
  if (at != end) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // Too small is 0 in Go; too large is an error.
    const size_t e = text.find_first_of("eE");
    const bool tiny = e != std::string_view::npos && text.substr(e).contains('-');
    return tiny ? std::optional(0.0) : std::nullopt;
  }
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::optional<double> ParseNumber(std::string_view text) {
  const auto digits = WithoutUnderscores(text);
  if (!digits) return std::nullopt;
  const auto integer = ParseInteger(*digits);
  return integer ? integer : ParseDecimal(*digits);
}

std::optional<int64_t> ParseDurationNs(std::string_view text) {
  if (text.empty()) return std::nullopt;
  int64_t total = 0;
  size_t next_unit = 0;
  while (!text.empty()) {
    int64_t number = 0;
    const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0 || !base::IsDigit(text[0])) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(at - text.data()));
    const size_t length = std::min(
        text.size(), static_cast<size_t>(std::ranges::find_if(text, base::IsDigit) - text.begin()));
    const std::string_view name = text.substr(0, length);
    size_t unit = next_unit;
    while (unit < std::size(kUnits) && kUnits[unit].name != name) ++unit;
    if (unit == std::size(kUnits)) return std::nullopt;
    int64_t ns = 0;
    if (__builtin_mul_overflow(number, kUnits[unit].ns, &ns)) return std::nullopt;
    if (__builtin_add_overflow(total, ns, &total)) return std::nullopt;
    next_unit = unit + 1;
    text.remove_prefix(length);
  }
  return total;
}

base::Result<std::string> Unquote(std::string_view quoted) {
  const char quote = quoted.front();
  std::string_view text = quoted.substr(1, quoted.size() - 2);
  // The replacement character stands for broken text, as Go's decoder sees it.
  if (!IsUtf8(text) || text.contains("\xef\xbf\xbd")) {
    return base::Fail(base::Code::kInvalidArgument, "invalid UTF-8 in a string");
  }
  if (quote == '`') return std::string(text);
  std::string out;
  while (!text.empty()) {
    const char c = text[0];
    text.remove_prefix(1);
    if (c != '\\') {
      out += c;
    } else if (!TakeEscape(text, quote, out)) {
      return base::Fail(base::Code::kInvalidArgument,
                        "unknown or broken escape sequence in a string");
    }
  }
  return out;
}

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80       ? 1
                          : lead >> 5 == 6  ? 2
                          : lead >> 4 == 14 ? 3
                          : lead >> 3 == 30 ? 4
                                            : 0;
    if (length == 0 || i + length > text.size()) return false;
    uint32_t point = length == 1 ? lead : lead & (0x7fU >> length);
    for (size_t j = 1; j < length; ++j) {
      const auto byte = static_cast<unsigned char>(text[i + j]);
      if (byte >> 6 != 2) return false;
      point = (point << 6) | (byte & 0x3fU);
    }
    constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < kSmallest[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
      return false;
    }
    i += length;
  }
  return true;
}

bool IsLabelName(std::string_view name, Dialect dialect) {
  if (name.empty()) return false;
  if (dialect == Dialect::kPrometheus3) return IsUtf8(name);
  const auto word = [](char c) {
    return c == '_' || base::IsDigit(c) || (Lower(c) >= 'a' && Lower(c) <= 'z');
  };
  return !base::IsDigit(name[0]) && std::ranges::all_of(name, word);
}

}  // namespace activescale::promql
