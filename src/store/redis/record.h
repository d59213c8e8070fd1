#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "metric/metric_kind.h"
#include "metric/pod_key.h"
#include "metric/quantity.h"
#include "redis/server_clock.h"

namespace activescale::store {

/// The version that is written. A version may only append to the one before, so that replicas of
/// neighbouring versions read each other's records during a rolling upgrade: read are the version
/// before, this one and the next. The layout is in docs/store.md.
inline constexpr uint8_t kRecordVersion = 1;

/// A moment of a server's clock as records keep it; zero means never.
using StoredTime = std::chrono::sys_time<std::chrono::milliseconds>;

/// One pod's record as it is kept in Redis.
struct Record {
  struct Sample {
    StoredTime at;  // when it was received, by the server's clock
    metric::Quantity value;
  };
  bool released = true;  // its stream closed: any other may write
  uint64_t epoch = 0;    // of the stream that counts; later streams have larger ones
  uint64_t owner = 0;    // names that stream
  StoredTime heartbeat;
  std::array<Sample, metric::kMetricKindCount> samples;
};

/// Why bytes under one of our keys are no record.
enum class BadRecord : uint8_t {
  kForeign,         // something else writes under our keys
  kCorrupt,         // a check does not fit: bytes were damaged, or it is another pod's
  kUnknownVersion,  // written by a version too far from ours
};

/// Each sample carries a check over the record's key, its moment and its value, so that what was
/// damaged or mixed up on the way is never served, least of all for another pod.
[[nodiscard]] std::expected<Record, BadRecord> ParseRecord(std::string_view bytes,
                                                           std::string_view key);
[[nodiscard]] std::string FormatRecord(const Record& record, std::string_view key,
                                       uint8_t version = kRecordVersion);

/// What a stream asks the server to do with its pod's record. The script of write_script.h reads
/// it.
struct Operation {
  bool claim = false;    // the stream has no epoch yet: `record.epoch` is when it opened, in us
  bool release = false;  // the stream closes
  Record record;         // a time of zero leaves the stored value; `released` does not count
};
[[nodiscard]] std::string FormatOperation(const Operation& operation, std::string_view key);

/// Streams of a pod are spread over this many hash tags of its namespace.
inline constexpr unsigned kTagsPerNamespace = 16;

/// Where a pod's record is.
struct RecordKey {
  std::string text;
  uint16_t slot = 0;
};

/// "<context>:{<namespace>/<0..15>}:<pod>"; the number is CRC16 of the pod's name, modulo 16.
[[nodiscard]] RecordKey MakeRecordKey(std::string_view context, metric::PodKeyView pod);

}  // namespace activescale::store
