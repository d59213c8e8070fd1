#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json_text.h"
#include "base/unix_time.h"
#include "metric/quantity.h"

/// Parts of JSON that the dashboard's documents are written with, without a tree in between.
namespace activescale::insight {

/// Writes commas between the members of an object or the elements of an array.
class JsonSeparator {
 public:
  void operator()(std::string& out) {
    if (!first_) out += ',';
    first_ = false;
  }

 private:
  bool first_ = true;
};

inline void AppendNumber(int64_t number, std::string& out) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

/// "3", "2.5", "0.125"; null if there is none.
inline void AppendAmount(const std::optional<metric::Quantity>& amount, std::string& out) {
  if (!amount) {
    out += "null";
    return;
  }
  const int64_t milli = amount->milli();
  AppendNumber(milli / 1000, out);
  int64_t rest = milli % 1000;
  if (rest == 0) return;
  out += '.';
  for (int64_t unit = 100; rest != 0; unit /= 10) {
    out += static_cast<char>('0' + rest / unit);
    rest %= unit;
  }
}

/// Milliseconds since 1970; null if there is none.
inline void AppendTime(const std::optional<base::WallTime>& time, std::string& out) {
  if (!time) {
    out += "null";
    return;
  }
  AppendNumber(base::UnixMs(*time), out);
}

/// `"key":`, of a key that needs no escape.
inline void AppendKey(std::string_view key, std::string& out) {
  out += '"';
  out += key;
  out += "\":";
}

}  // namespace activescale::insight
