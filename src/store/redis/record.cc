#include "store/redis/record.h"

#include <fmt/format.h>

#include <array>

#include "redis/slots.h"

namespace activescale::store {
namespace {

constexpr std::string_view kMagic = "AS";
constexpr size_t kHeaderSize = 3;  // magic, version
constexpr size_t kSampleSize = 8 + 8 + 4;
constexpr size_t kBodySize = 1 + 8 + 8 + 8 + metric::kMetricKindCount * kSampleSize;

constexpr uint8_t kFlagReleased = 1;  // of a record
constexpr uint8_t kFlagClaim = 1;     // of an operation
constexpr uint8_t kFlagRelease = 2;

constexpr std::array<uint32_t, 256> MakeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xedb88320U : crc >> 1;
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kCrcTable = MakeCrcTable();

/// CRC-32 as in zlib; `crc` is that of what comes before. Source: RFC 1952, section 8.
uint32_t Crc32(std::string_view bytes, uint32_t crc = 0) {
  crc = ~crc;
  for (const char c : bytes) crc = kCrcTable[(crc ^ static_cast<uint8_t>(c)) & 0xff] ^ crc >> 8;
  return ~crc;
}

template <typename Integer>
void Put(std::string& out, Integer value) {
  for (int shift = sizeof(Integer) * 8 - 8; shift >= 0; shift -= 8) {
    out += static_cast<char>(value >> shift);
  }
}

/// Takes an integer off `bytes`, which has it.
template <typename Integer>
Integer Take(std::string_view& bytes) {
  Integer value = 0;
  for (size_t i = 0; i < sizeof(Integer); ++i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  bytes.remove_prefix(sizeof(Integer));
  return value;
}

void PutTime(std::string& out, StoredTime at) {
  Put(out, static_cast<uint64_t>(at.time_since_epoch().count()));
}

StoredTime TakeTime(std::string_view& bytes) {
  return StoredTime(std::chrono::milliseconds(static_cast<int64_t>(Take<uint64_t>(bytes))));
}

void PutSample(std::string& out, const Record::Sample& sample, uint32_t key_crc) {
  if (sample.at == StoredTime()) {
    out.append(kSampleSize, '\0');
    return;
  }
  const size_t start = out.size();
  PutTime(out, sample.at);
  Put(out, static_cast<uint64_t>(sample.value.milli()));
  Put(out, Crc32(std::string_view(out).substr(start), key_crc));
}

/// False if the check does not fit.
bool TakeSample(std::string_view& bytes, Record::Sample& sample, uint32_t key_crc) {
  const uint32_t want = Crc32(bytes.substr(0, kSampleSize - 4), key_crc);
  sample.at = TakeTime(bytes);
  sample.value = metric::Quantity::FromMilli(static_cast<int64_t>(Take<uint64_t>(bytes)));
  const auto check = Take<uint32_t>(bytes);
  return sample.at == StoredTime() || check == want;
}

void PutBody(std::string& out, uint8_t flags, const Record& record, std::string_view key) {
  out += static_cast<char>(flags);
  Put(out, record.epoch);
  Put(out, record.owner);
  PutTime(out, record.heartbeat);
  const uint32_t key_crc = Crc32(key);
  for (const Record::Sample& sample : record.samples) PutSample(out, sample, key_crc);
}

}  // namespace

std::expected<Record, BadRecord> ParseRecord(std::string_view bytes, std::string_view key) {
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
  record.epoch = Take<uint64_t>(bytes);
  record.owner = Take<uint64_t>(bytes);
  record.heartbeat = TakeTime(bytes);
  const uint32_t key_crc = Crc32(key);
  for (Record::Sample& sample : record.samples) {
    if (!TakeSample(bytes, sample, key_crc)) return std::unexpected(BadRecord::kCorrupt);
  }
  return record;
}

std::string FormatRecord(const Record& record, std::string_view key, uint8_t version) {
  std::string out(kMagic);
  out += static_cast<char>(version);
  PutBody(out, record.released ? kFlagReleased : 0, record, key);
  return out;
}

std::string FormatOperation(const Operation& operation, std::string_view key) {
  std::string out;
  out.reserve(kBodySize);
  PutBody(out,
          static_cast<uint8_t>((operation.claim ? kFlagClaim : 0) |
                               (operation.release ? kFlagRelease : 0)),
          operation.record, key);
  return out;
}

RecordKey MakeRecordKey(std::string_view context, metric::PodKeyView pod) {
  const std::string tag = fmt::format("{}/{}", pod.ns, redis::Crc16(pod.name) % kTagsPerNamespace);
  return {fmt::format("{}:{{{}}}:{}", context, tag, pod.name), redis::KeySlot(tag)};
}

}  // namespace activescale::store
