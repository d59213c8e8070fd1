// However a server's bytes are cut, the same replies come out; whatever they say, the parsers of
// topology, errors and the clock take it or refuse it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "redis/reply_error.h"
#include "redis/resp.h"
#include "redis/sentinel.h"
#include "redis/server_clock.h"
#include "redis/slots.h"

namespace activescale::redis {
namespace {

/// A reply as text that names each of its parts.
std::string Say(const Reply& reply) {
  std::string out = std::to_string(static_cast<int>(reply.type)) + ":" +
                    std::to_string(reply.integer) + ":" + reply.text + "[";
  for (const Reply& element : reply.elements) out += Say(element) + ",";
  return out + "]";
}

void Interpret(const Reply& reply) {
  const Address asked{"127.0.0.1", 6379};
  if (const auto map = SlotMap::Parse(reply, asked)) {
    size_t owned = map->unowned();
    for (const Address& master : map->masters()) owned += map->SlotsOf(master).count();
    if (owned != kSlotCount) std::abort();
  }
  (void)ParseMasterAddress(reply, "main");
  (void)ParseSwitchMaster(reply, "main");
  (void)RequireMaster(reply);
  (void)ParseTime(reply);
  if (!reply.IsError()) return;
  (void)Explain(reply.text);
  if (const auto redirect = ParseRedirect(reply.text, asked)) {
    if (redirect->slot >= kSlotCount) std::abort();
  }
}

/// What is read of `wire` that comes in pieces of `piece` bytes, up to the first error.
std::string Reading(std::string_view wire, size_t piece) {
  ReplyReader reader;
  std::string out;
  while (!wire.empty()) {
    const std::string_view next = wire.substr(0, std::min(piece, wire.size()));
    wire.remove_prefix(next.size());
    if (!reader.Feed(next)) return out + "fed too much";
    for (;;) {
      const auto reply = reader.Next();
      if (!reply) return out + "not RESP";
      if (!*reply) break;
      Interpret(**reply);
      out += Say(**reply) + ";";
    }
  }
  return out;
}

/// The first byte says how the rest is cut.
void Check(std::string_view input) {
  if (input.empty()) return;
  const std::string_view wire = input.substr(1);
  const size_t piece = 1 + static_cast<uint8_t>(input[0]) % 32;
  if (Reading(wire, wire.size()) != Reading(wire, piece)) std::abort();
}

}  // namespace
}  // namespace activescale::redis

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  activescale::redis::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
