#include "redis/sentinel.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "redis/reply_error.h"

namespace activescale::redis {
namespace {

std::optional<Address> MakeAddress(std::string_view host, std::string_view port) {
  Address address{std::string(host), 0};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (host.empty() || error != std::errc() || end != port.data() + port.size()) return std::nullopt;
  return address;
}

}  // namespace

base::Result<Address> ParseMasterAddress(const Reply& reply, std::string_view name) {
  using enum Reply::Type;
  if (reply.type == kNil || (reply.type == kArray && reply.elements.empty())) {
    return base::Fail(base::Code::kNotFound,
                      fmt::format("the Sentinel knows no master named \"{}\": check "
                                  "REDIS_SENTINEL_MASTER",
                                  name));
  }
  if (reply.IsError()) return base::Fail(base::Code::kUnavailable, Explain(reply.text));
  if (reply.type == kArray && reply.elements.size() == 2) {
    auto address = MakeAddress(reply.elements[0].text, reply.elements[1].text);
    if (address) return *std::move(address);
  }
  return base::Fail(base::Code::kInternal, "the Sentinel's answer has an unknown form");
}

std::optional<Address> ParseSwitchMaster(const Reply& event, std::string_view name) {
  if (event.type != Reply::Type::kArray || event.elements.size() != 3 ||
      event.elements[0].text != "message" || event.elements[1].text != "+switch-master") {
    return std::nullopt;
  }
  std::array<std::string_view, 5> words;
  std::string_view rest = event.elements[2].text;
  for (std::string_view& word : words) {
    const size_t space = rest.find(' ');
    word = rest.substr(0, space);
    rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
  }
  if (words[0] != name) return std::nullopt;
  return MakeAddress(words[3], words[4]);
}

base::Result<void> RequireMaster(const Reply& reply) {
  // An ACL user without the right to ask is let through: a write to a replica says READONLY.
  if (reply.IsError()) {
    if (Classify(reply.text) == ErrorKind::kNoPerm) return {};
    return base::Fail(base::Code::kUnavailable, Explain(reply.text));
  }
  const std::string_view role =
      reply.elements.empty() ? std::string_view("?") : std::string_view(reply.elements[0].text);
  if (role == "master") return {};
  if (role == "slave" && reply.elements.size() >= 3) {
    return base::Fail(base::Code::kUnavailable,
                      fmt::format("it is a replica of {}:{}: give the master's address, or let "
                                  "Sentinel name it (REDIS_SENTINEL_MASTER)",
                                  reply.elements[1].text, reply.elements[2].integer));
  }
  if (role == "sentinel") {
    return base::Fail(base::Code::kUnavailable,
                      "it is a Sentinel: set REDIS_SENTINEL_MASTER to the master's name");
  }
  return base::Fail(base::Code::kUnavailable, "it does not say that it is a master");
}

}  // namespace activescale::redis
