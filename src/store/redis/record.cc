#include "store/redis/record.h"

#include <fmt/format.h>

#include "redis/slots.h"

namespace activescale::store {
namespace {

constexpr std::string_view kMagic = "AS";
constexpr size_t kHeaderSize = 3;  // magic, version
constexpr size_t kBodySize = 1 + 8 + 8 + 8 + metric::kMetricKindCount * 16;

constexpr uint8_t kFlagReleased = 1;  // of a record
constexpr uint8_t kFlagClaim = 1;     // of an operation
constexpr uint8_t kFlagRelease = 2;

void Put(std::string& out, uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
}

/// Takes eight bytes off `bytes`, which has them.
uint64_t Take(std::string_view& bytes) {
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) {
    value = value << 8 | static_cast<uint8_t>(bytes[static_cast<size_t>(i)]);
  }
  bytes.remove_prefix(8);
  return value;
}

void PutTime(std::string& out, StoredTime at) {
  Put(out, static_cast<uint64_t>(at.time_since_epoch().count()));
}

StoredTime TakeTime(std::string_view& bytes) {
  return StoredTime(std::chrono::milliseconds(static_cast<int64_t>(Take(bytes))));
}

void PutBody(std::string& out, uint8_t flags, const Record& record) {
  out += static_cast<char>(flags);
  Put(out, record.epoch);
  Put(out, record.owner);
  PutTime(out, record.heartbeat);
  for (const Record::Sample& sample : record.samples) {
    PutTime(out, sample.at);
    Put(out, static_cast<uint64_t>(sample.value.milli()));
  }
}

}  // namespace

std::expected<Record, BadRecord> ParseRecord(std::string_view bytes) {
  if (bytes.size() < kHeaderSize + kBodySize || !bytes.starts_with(kMagic)) {
    return std::unexpected(BadRecord::kForeign);
  }
  const auto version = static_cast<uint8_t>(bytes[2]);
  if (version + 1 < kRecordVersion || version > kRecordVersion + 1 || version == 0) {
    return std::unexpected(BadRecord::kUnknownVersion);
  }
  Record record;
  record.released = (static_cast<uint8_t>(bytes[3]) & kFlagReleased) != 0;
  bytes.remove_prefix(4);
  record.epoch = Take(bytes);
  record.owner = Take(bytes);
  record.heartbeat = TakeTime(bytes);
  for (Record::Sample& sample : record.samples) {
    sample.at = TakeTime(bytes);
    sample.value = metric::Quantity::FromMilli(static_cast<int64_t>(Take(bytes)));
  }
  return record;
}

std::string FormatRecord(const Record& record, uint8_t version) {
  std::string out(kMagic);
  out += static_cast<char>(version);
  PutBody(out, record.released ? kFlagReleased : 0, record);
  return out;
}

std::string FormatOperation(const Operation& operation) {
  std::string out;
  out.reserve(kBodySize);
  PutBody(out,
          static_cast<uint8_t>((operation.claim ? kFlagClaim : 0) |
                               (operation.release ? kFlagRelease : 0)),
          operation.record);
  return out;
}

RecordKey MakeRecordKey(std::string_view context, metric::PodKeyView pod) {
  const std::string tag = fmt::format("{}/{}", pod.ns, redis::Crc16(pod.name) % kTagsPerNamespace);
  return {fmt::format("{}:{{{}}}:{}", context, tag, pod.name), redis::KeySlot(tag)};
}

}  // namespace activescale::store
