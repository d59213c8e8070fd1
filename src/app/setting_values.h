#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config.h"
#include "app/settings.h"

/// How the texts of settings become members of Config: one function for each kind of value.
namespace activescale::app {

using Assign = std::function<Setting::Assigned(Config&, std::string_view)>;

[[nodiscard]] inline std::unexpected<std::string> Wrong(std::string_view text,
                                                        std::string_view wanted) {
  return std::unexpected(fmt::format("\"{}\" is not {}", text, wanted));
}

/// Nothing if `text` is no whole number, or does not fit.
[[nodiscard]] std::optional<int64_t> ParseInteger(std::string_view text);

template <typename T>
Assign Whole(T Config::* member, int64_t least, int64_t most) {
  return [=](Config& config, std::string_view text) -> Setting::Assigned {
    const auto value = ParseInteger(text);
    if (!value || *value < least || *value > most) {
      return Wrong(text, fmt::format("a whole number from {} to {}", least, most));
    }
    config.*member = static_cast<T>(*value);
    return {};
  };
}

[[nodiscard]] Assign Port(uint16_t Config::* member);
[[nodiscard]] Assign Bytes(size_t Config::* member, int64_t least, int64_t most);
[[nodiscard]] Assign Duration(std::chrono::nanoseconds Config::* member,
                              std::chrono::nanoseconds least, std::chrono::nanoseconds most);
[[nodiscard]] Assign Text(std::string Config::* member);
/// An IP address, or nothing.
[[nodiscard]] Assign Address(std::string Config::* member);
/// An IP address and a port: "127.0.0.1:9091", "[::]:9091"; or nothing.
[[nodiscard]] Assign Listen(ListenAddress Config::* member);
/// true or false.
[[nodiscard]] Assign Switch(bool Config::* member);
/// Comma-separated.
[[nodiscard]] Assign List(std::vector<std::string> Config::* member);

[[nodiscard]] bool IsLoopback(std::string_view address);
/// Adds a fault if one of a certificate and its key is given without the other.
void CheckPair(std::string_view one_name, const std::string& one, std::string_view other_name,
               const std::string& other, std::vector<std::string>& faults);

}  // namespace activescale::app
