#include "app/setting_values.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/duration.h"
#include "metric/quantity.h"

namespace activescale::app {
namespace {

using Assigned = Setting::Assigned;
using std::chrono::nanoseconds;

bool IsAddress(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> parsed;
  return inet_pton(AF_INET, text.c_str(), parsed.data()) == 1 ||
         inet_pton(AF_INET6, text.c_str(), parsed.data()) == 1;
}

}  // namespace

std::optional<int64_t> ParseInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Assign Port(uint16_t Config::* member) { return Whole(member, 0, 65535); }

Assign Bytes(size_t Config::* member, int64_t least, int64_t most) {
  return [=](Config& config, std::string_view text) -> Assigned {
    const auto value = metric::Quantity::Parse(text);
    const int64_t bytes = value ? value->milli() / 1000 : -1;
    if (bytes < least || bytes > most) {
      return Wrong(text, fmt::format("a number of bytes from {} to {}, such as 33554432 or 32Mi",
                                     least, most));
    }
    config.*member = static_cast<size_t>(bytes);
    return {};
  };
}

Assign Duration(nanoseconds Config::* member, nanoseconds least, nanoseconds most) {
  return [=](Config& config, std::string_view text) -> Assigned {
    const auto value = base::ParseDuration(text);
    if (!value) return std::unexpected(value.error().message);
    if (*value < least || *value > most) {
      return Wrong(text, fmt::format("a duration from {} to {}", base::FormatDuration(least),
                                     base::FormatDuration(most)));
    }
    config.*member = *value;
    return {};
  };
}

Assign Text(std::string Config::* member) {
  return [=](Config& config, std::string_view text) -> Assigned {
    config.*member = text;
    return {};
  };
}

Assign Address(std::string Config::* member) {
  return [=](Config& config, std::string_view text) -> Assigned {
    const std::string address(text);
    if (!address.empty() && !IsAddress(address)) {
      return Wrong(text, "an IP address such as 127.0.0.1, 0.0.0.0 or ::");
    }
    config.*member = address;
    return {};
  };
}

Assign Listen(ListenAddress Config::* member) {
  return [=](Config& config, std::string_view text) -> Assigned {
    if (text.empty()) {
      config.*member = {};
      return {};
    }
    const size_t colon = text.rfind(':');
    std::string host(text.substr(0, std::min(colon, text.size())));
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    const int64_t port =
        colon == std::string_view::npos ? -1 : ParseInteger(text.substr(colon + 1)).value_or(-1);
    if (!IsAddress(host) || port < 0 || port > 65535) {
      return Wrong(text,
                   "an IP address and a port, such as 127.0.0.1:9091, 0.0.0.0:9091 or "
                   "[::]:9091");
    }
    config.*member = {std::move(host), static_cast<uint16_t>(port)};
    return {};
  };
}

Assign Switch(bool Config::* member) {
  return [=](Config& config, std::string_view text) -> Assigned {
    if (text != "true" && text != "false") return Wrong(text, "true or false");
    config.*member = text == "true";
    return {};
  };
}

Assign List(std::vector<std::string> Config::* member) {
  return [=](Config& config, std::string_view text) -> Assigned {
    std::vector<std::string> items;
    while (!text.empty()) {
      const size_t comma = std::min(text.find(','), text.size());
      if (comma > 0) items.emplace_back(text.substr(0, comma));
      text.remove_prefix(std::min(comma + 1, text.size()));
    }
    config.*member = std::move(items);
    return {};
  };
}

bool IsLoopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1";
}

void CheckPair(std::string_view one_name, const std::string& one, std::string_view other_name,
               const std::string& other, std::vector<std::string>& faults) {
  if (one.empty() == other.empty()) return;
  const auto [given, missing] =
      one.empty() ? std::pair(other_name, one_name) : std::pair(one_name, other_name);
  faults.push_back(
      fmt::format("{} is given without {}: a certificate and its key go together", given, missing));
}

}  // namespace activescale::app
