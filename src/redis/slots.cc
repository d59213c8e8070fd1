#include "redis/slots.h"

#include <algorithm>
#include <utility>

namespace activescale::redis {
namespace {

constexpr std::array<uint16_t, 256> MakeCrcTable() {
  std::array<uint16_t, 256> table{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned crc = i << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000u) ? (crc << 1) ^ 0x1021u : crc << 1;
    table[i] = static_cast<uint16_t>(crc);
  }
  return table;
}

constexpr std::array<uint16_t, 256> kCrcTable = MakeCrcTable();

std::unexpected<base::Error> Malformed() {
  return base::Fail(base::Code::kInternal, "CLUSTER SLOTS: the answer has an unknown form");
}

struct Range {
  uint16_t first = 0;
  uint16_t last = 0;
  Address master;
};

/// One entry: first slot, last slot, the master's [host, port, ...], replicas.
base::Result<Range> ParseRange(const Reply& entry, const Address& asked) {
  using enum Reply::Type;
  if (entry.type != kArray || entry.elements.size() < 3) return Malformed();
  const Reply& first = entry.elements[0];
  const Reply& last = entry.elements[1];
  const Reply& node = entry.elements[2];
  if (first.type != kInteger || last.type != kInteger || first.integer < 0 ||
      last.integer < first.integer || last.integer >= kSlotCount) {
    return Malformed();
  }
  if (node.type != kArray || node.elements.size() < 2) return Malformed();
  const Reply& host = node.elements[0];
  const Reply& port = node.elements[1];
  if (port.type != kInteger || port.integer < 0 || port.integer > 65535) return Malformed();
  return Range{
      static_cast<uint16_t>(first.integer), static_cast<uint16_t>(last.integer),
      Address{host.text.empty() ? asked.host : host.text, static_cast<uint16_t>(port.integer)}};
}

}  // namespace

uint16_t Crc16(std::string_view bytes) {
  uint16_t crc = 0;
  for (const char c : bytes) {
    const auto index = static_cast<uint8_t>((crc >> 8) ^ static_cast<uint8_t>(c));
    crc = static_cast<uint16_t>((crc << 8) ^ kCrcTable[index]);
  }
  return crc;
}

uint16_t KeySlot(std::string_view key) {
  if (const size_t open = key.find('{'); open != std::string_view::npos) {
    const size_t close = key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1) {
      key = key.substr(open + 1, close - open - 1);
    }
  }
  return Crc16(key) % kSlotCount;
}

base::Result<SlotMap> SlotMap::Parse(const Reply& reply, const Address& asked) {
  if (reply.type != Reply::Type::kArray) return Malformed();
  SlotMap map;
  for (const Reply& entry : reply.elements) {
    auto range = ParseRange(entry, asked);
    if (!range) return std::unexpected(std::move(range.error()));
    // A node whose address the asked one does not know yet.
    if (range->master.host == "?" || range->master.port == 0) continue;
    const uint16_t index = map.IndexOf(range->master);
    if (map.masters_.size() > kSlotCount) return Malformed();
    std::fill(map.owners_.begin() + range->first, map.owners_.begin() + range->last + 1, index);
  }
  return map;
}

uint16_t SlotMap::IndexOf(const Address& master) {
  const auto index = static_cast<size_t>(std::ranges::find(masters_, master) - masters_.begin());
  if (index == masters_.size()) masters_.push_back(master);
  return static_cast<uint16_t>(index);
}

void SlotMap::SetOwner(uint16_t slot, const Address& master) { owners_[slot] = IndexOf(master); }

SlotSet SlotMap::SlotsOf(const Address& master) const {
  SlotSet slots;
  const auto it = std::ranges::find(masters_, master);
  if (it == masters_.end()) return slots;
  const auto index = static_cast<uint16_t>(it - masters_.begin());
  for (size_t slot = 0; slot < kSlotCount; ++slot) {
    if (owners_[slot] == index) slots.set(slot);
  }
  return slots;
}

size_t SlotMap::unowned() const {
  return static_cast<size_t>(std::ranges::count(owners_, kNobody));
}

}  // namespace activescale::redis
