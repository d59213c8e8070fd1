#pragma once

#include <string_view>

namespace activescale::store {

/// Applies one operation to each record: KEYS[i] with ARGV[i + 1], ARGV[1] being the TTL in ms. All
/// keys are of one hash tag. Answers, for each, the epoch with which it was accepted, or one of the
/// values below. Ownership is decided here, where all replicas meet, by these rules:
///
/// 1. A claim gets the moment its stream opened, by the server's clock in microseconds, as epoch.
/// So
///    a claim that comes late (Redis was away) does not overtake one of a stream that opened later,
///    and epochs go on growing when records expire or are lost. It is accepted if its epoch is
///    above the stored one (of equal ones the larger owner's), or the stored stream has released.
///    Should the stored epoch be in the future, the server's clock was set back, and the claim gets
///    the next number instead. A claim of the stored owner is one whose answer was lost.
/// 2. A write is accepted from the stored owner, whatever it takes its epoch for, from a higher
///    epoch, and from any if the stored stream has released or there is no record (expired, or lost
///    in a failover).
/// 3. An older stream takes over from a released one only with what it received after the release,
///    whose moment the record then has in place of the owner.
/// 4. What a write does not carry is kept. A write of the stored owner, and of a lower epoch that
/// takes
///    over from a released one, replaces only what is older than its own: the former may be one
///    that was delayed on a connection given up since.
///
/// Layouts: record.h. Needs Redis 5 or newer (script effects replication), or Valkey.
extern const std::string_view kWriteScript;

inline constexpr int kWriteSuperseded = 0;         // another stream counts
inline constexpr int kWriteOnForeign = -1;         // the key holds something that is no record
inline constexpr int kWriteOnUnknownVersion = -2;  // the record is of a version too far from ours

}  // namespace activescale::store
