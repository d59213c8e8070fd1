#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "redis/address.h"
#include "redis/resp.h"

namespace activescale::redis {

inline constexpr uint16_t kSlotCount = 16384;
using SlotSet = std::bitset<kSlotCount>;

/// CRC16/XMODEM. Source: Redis Cluster specification, appendix A.
[[nodiscard]] uint16_t Crc16(std::string_view bytes);

/// The Cluster slot of a key: of the text between the first { and the next }, if there is any.
/// Source: Redis Cluster specification, "Hash tags".
[[nodiscard]] uint16_t KeySlot(std::string_view key);

/// Which master owns which slot. A value type.
class SlotMap {
 public:
  /// Nothing is owned.
  SlotMap() { owners_.fill(kNobody); }

  /// Reads the answer of CLUSTER SLOTS from `asked`; replicas in it are not kept. An unknown host
  /// (null or empty) is the one that was asked. Errors: kInternal if it has another form.
  [[nodiscard]] static base::Result<SlotMap> Parse(const Reply& reply, const Address& asked);

  /// The master of `slot`; null if it has none.
  [[nodiscard]] const Address* Owner(uint16_t slot) const {
    const uint16_t owner = owners_[slot];
    return owner == kNobody ? nullptr : &masters_[owner];
  }
  void SetOwner(uint16_t slot, const Address& master);

  [[nodiscard]] const std::vector<Address>& masters() const { return masters_; }
  [[nodiscard]] SlotSet SlotsOf(const Address& master) const;
  [[nodiscard]] size_t unowned() const;

 private:
  static constexpr uint16_t kNobody = 0xffff;

  [[nodiscard]] uint16_t IndexOf(const Address& master);

  std::vector<Address> masters_;
  std::array<uint16_t, kSlotCount> owners_;
};

}  // namespace activescale::redis
