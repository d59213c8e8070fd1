#include "scaleahead/rendezvous.h"

#include <cstdint>

namespace activescale::scaleahead {
namespace {

/// FNV-1a, then mixed, as FNV alone barely spreads what its last bytes are. It must not change:
/// replicas of two versions run side by side during an upgrade. Source: RFC 9923; MurmurHash3's
/// fmix64.
uint64_t Hash(std::string_view member, std::string_view key) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) {
      hash ^= static_cast<unsigned char>(c);
      hash *= 0x100000001b3;
    }
  };
  add(member);
  add(std::string_view("\0", 1));
  add(key);
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccd;
  hash ^= hash >> 33;
  hash *= 0xc4ceb9fe1a85ec53;
  hash ^= hash >> 33;
  return hash;
}

}  // namespace

std::string_view Winner(const std::vector<std::string>& members, std::string_view key) {
  std::string_view winner;
  uint64_t highest = 0;
  for (const std::string& member : members) {
    const uint64_t hash = Hash(member, key);
    const bool better = winner.empty() || hash > highest || (hash == highest && member < winner);
    if (!better) continue;
    winner = member;
    highest = hash;
  }
  return winner;
}

}  // namespace activescale::scaleahead
