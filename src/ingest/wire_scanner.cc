#include "ingest/wire_scanner.h"

#include <utility>

#include "ingest/wire_schema.h"

namespace activescale::ingest {
namespace {

// Tags by the numbers in proto/envoy/service/metrics/v3 and proto/io/prometheus/client.
constexpr uint32_t LengthTag(uint32_t number) {
  return number << 3 | static_cast<uint32_t>(WireType::kLength);
}
constexpr uint32_t kMessageIdentifier = LengthTag(1);
constexpr uint32_t kMessageFamily = LengthTag(2);
constexpr uint32_t kFamilyName = LengthTag(1);
constexpr uint32_t kFamilyType = 3 << 3 | static_cast<uint32_t>(WireType::kVarint);
constexpr uint32_t kFamilyMetric = LengthTag(4);
constexpr uint32_t kMetricLabel = LengthTag(1);
constexpr uint32_t kMetricGauge = LengthTag(2);
constexpr uint32_t kMetricCounter = LengthTag(3);
constexpr uint32_t kMetricTimestamp = 6 << 3 | static_cast<uint32_t>(WireType::kVarint);
constexpr uint32_t kValueOfBoth = 1 << 3 | static_cast<uint32_t>(WireType::kFixed64);
constexpr uint32_t kLabelName = LengthTag(1);
constexpr uint32_t kLabelValue = LengthTag(2);

// Levels of nesting that are left inside a message's identifier or family.
constexpr int kDepthInside = kMaxDepth - 1;

// Copies and lists longer than this are not kept for the next message.
constexpr size_t kKeptBytes = 65'536;

template <typename T>
void ClearAndBound(std::vector<T>& list) {
  list.clear();
  if (list.capacity() * sizeof(T) > kKeptBytes) list.shrink_to_fit();
}

/// Bytes in one piece, for the shape of family that is nearly all of a message.
class PlainBytes {
 public:
  explicit PlainBytes(std::string_view bytes)
      : p_(reinterpret_cast<const uint8_t*>(bytes.data())), end_(p_ + bytes.size()) {}

  [[nodiscard]] size_t left() const { return static_cast<size_t>(end_ - p_); }

  /// A tag of one byte.
  [[nodiscard]] bool Tag(uint32_t tag) { return p_ != end_ && *p_++ == tag; }
  /// A varint of one byte.
  [[nodiscard]] bool SkipByte() { return p_ != end_ && *p_++ < 0x80; }
  /// A length of one or two bytes, and that many bytes.
  [[nodiscard]] bool Payload(std::string_view* payload) {
    if (p_ == end_) return false;
    size_t length = *p_++;
    if (length >= 0x80) {
      if (p_ == end_ || *p_ >= 0x80) return false;
      length = (length & 0x7F) | static_cast<size_t>(*p_++) << 7;
    }
    if (length > left()) return false;
    *payload = {reinterpret_cast<const char*>(p_), length};
    p_ += length;
    return true;
  }

 private:
  const uint8_t* p_;
  const uint8_t* end_;
};

bool Chosen(const metric::StatChooser* chooser, std::string_view name) {
  return chooser != nullptr && chooser->Chooses(name);
}

/// Whether a family is as Envoy writes it, one name, one type and one metric, and its name cannot
/// matter: then there is nothing else to find in it.
bool IsPlainAndSkipped(std::string_view family, const metric::StatChooser* chooser) {
  PlainBytes bytes(family);
  std::string_view name;
  std::string_view metric;
  return bytes.Tag(kFamilyName) && bytes.Payload(&name) && bytes.Tag(kFamilyType) &&
         bytes.SkipByte() && bytes.Tag(kFamilyMetric) && bytes.Payload(&metric) &&
         bytes.left() == 0 && !metric::StatNameRules::IsCandidate(name) && !Chosen(chooser, name);
}

}  // namespace

void WireScanner::Reset() {
  ClearAndBound(message_.identifiers);
  ClearAndBound(message_.families);
  ClearAndBound(message_.samples);
  ClearAndBound(message_.labels);
  ClearAndBound(message_.skipped_names);
  message_.timestamp_ms.reset();
  message_.skipped_families = 0;
  for (size_t i = 0; i < copies_used_; ++i) {
    if (copies_[i].capacity() > kKeptBytes) copies_[i] = std::string();
  }
  if (copies_.size() * sizeof(std::string) > kKeptBytes) copies_ = {};
  copies_used_ = 0;
}

const ScannedMessage* WireScanner::Scan(Slices slices, bool want_skipped_names,
                                        const metric::StatChooser* chooser) {
  Reset();
  want_skipped_names_ = want_skipped_names;
  chooser_ = chooser;
  WireCursor cursor(slices);
  for (Tag tag; !cursor.AtEnd();) {
    if (message_.timestamp_ms && !want_skipped_names_) {
      PassPlainFamilies(cursor);
      if (cursor.AtEnd()) break;
    }
    if (!cursor.ReadTag(&tag)) return nullptr;
    WireCursor payload;
    if (tag.value == kMessageFamily) {
      if (!cursor.ReadPayload(&payload) || !ScanFamily(payload)) return nullptr;
    } else if (tag.value == kMessageIdentifier) {
      if (!cursor.ReadPayload(&payload)) return nullptr;
      if (!Validate(payload, kIdentifierSchema, kDepthInside)) return nullptr;
      message_.identifiers.push_back(payload);
    } else if (!cursor.SkipField(tag, kMaxDepth)) {
      return nullptr;
    }
  }
  return &message_;
}

// The way of nearly all families of a flush; whatever is not plain is left to ScanFamily.
void WireScanner::PassPlainFamilies(WireCursor& message) {
  const std::string_view chunk = message.Chunk();
  PlainBytes bytes(chunk);
  size_t passed = 0;
  std::string_view family;
  while (bytes.Tag(kMessageFamily) && bytes.Payload(&family) &&
         IsPlainAndSkipped(family, chooser_)) {
    ++message_.skipped_families;
    passed = chunk.size() - bytes.left();
  }
  message.SkipInChunk(passed);
}

// A field may be repeated, and then the last name counts: so all of the family's own fields are
// walked before its name is judged.
bool WireScanner::ScanFamily(WireCursor family) {
  const WireCursor start = family;
  WireCursor name_bytes;
  for (Tag tag; !family.AtEnd();) {
    if (!family.ReadTag(&tag)) return false;
    WireCursor metric;
    if (tag.value == kFamilyName) {
      if (!family.ReadPayload(&name_bytes)) return false;
    } else if (tag.value == kFamilyMetric && !message_.timestamp_ms) {
      if (!family.ReadPayload(&metric) || !FindTimestamp(metric)) return false;
    } else if (!family.SkipField(tag, kDepthInside)) {
      return false;
    }
  }
  const std::string_view name = Flatten(name_bytes);
  const bool chosen = Chosen(chooser_, name);
  if (!chosen && !metric::StatNameRules::IsCandidate(name)) {
    ++message_.skipped_families;
    if (want_skipped_names_) message_.skipped_names.push_back(name);
    return true;
  }
  if (!Validate(start, kMetricFamilySchema, kDepthInside)) return false;
  message_.families.push_back({name, chosen, static_cast<uint32_t>(message_.samples.size()), 0});
  return DecodeSamples(start);
}

bool WireScanner::FindTimestamp(WireCursor metric) {
  uint64_t timestamp = 0;
  for (Tag tag; !metric.AtEnd();) {
    if (!metric.ReadTag(&tag)) return false;
    if (tag.value == kMetricTimestamp) {
      if (!metric.ReadVarint(&timestamp)) return false;
    } else if (!metric.SkipField(tag, kDepthInside - 1)) {
      return false;
    }
  }
  if (timestamp != 0) message_.timestamp_ms = static_cast<int64_t>(timestamp);
  return true;
}

bool WireScanner::DecodeSamples(WireCursor family) {
  for (Tag tag; !family.AtEnd();) {
    if (!family.ReadTag(&tag)) return false;
    if (tag.value != kFamilyMetric) {
      if (!family.SkipField(tag, kDepthInside)) return false;
      continue;
    }
    WireCursor metric;
    if (!family.ReadPayload(&metric) || !DecodeMetric(metric)) return false;
    ++message_.families.back().sample_count;
  }
  return true;
}

bool WireScanner::DecodeMetric(WireCursor metric) {
  ScannedSample sample;
  sample.first_label = static_cast<uint32_t>(message_.labels.size());
  for (Tag tag; !metric.AtEnd();) {
    if (!metric.ReadTag(&tag)) return false;
    WireCursor payload;
    if (tag.value == kMetricLabel) {
      if (!metric.ReadPayload(&payload) || !DecodeLabel(payload)) return false;
      ++sample.label_count;
    } else if (tag.value == kMetricGauge) {
      if (!metric.ReadPayload(&payload) || !DecodeValue(payload, &sample.gauge)) return false;
    } else if (tag.value == kMetricCounter) {
      if (!metric.ReadPayload(&payload) || !DecodeValue(payload, &sample.counter)) return false;
    } else if (!metric.SkipField(tag, kDepthInside - 1)) {
      return false;
    }
  }
  message_.samples.push_back(sample);
  return true;
}

/// Of a gauge or a counter; one in two parts is merged.
bool WireScanner::DecodeValue(WireCursor bytes, std::optional<double>* value) {
  double number = value->value_or(0);
  for (Tag tag; !bytes.AtEnd();) {
    if (!bytes.ReadTag(&tag)) return false;
    const bool ok = tag.value == kValueOfBoth ? bytes.ReadDouble(&number)
                                              : bytes.SkipField(tag, kDepthInside - 2);
    if (!ok) return false;
  }
  *value = number;
  return true;
}

bool WireScanner::DecodeLabel(WireCursor label) {
  WireCursor name;
  WireCursor value;
  for (Tag tag; !label.AtEnd();) {
    if (!label.ReadTag(&tag)) return false;
    const bool ok = tag.value == kLabelName    ? label.ReadPayload(&name)
                    : tag.value == kLabelValue ? label.ReadPayload(&value)
                                               : label.SkipField(tag, kDepthInside - 2);
    if (!ok) return false;
  }
  message_.labels.push_back({Flatten(name), Flatten(value)});
  return true;
}

std::string_view WireScanner::Flatten(WireCursor bytes) {
  std::string_view whole;
  if (bytes.Contiguous(&whole)) return whole;
  if (copies_used_ == copies_.size()) copies_.emplace_back();
  std::string& copy = copies_[copies_used_++];
  copy.clear();
  while (!bytes.AtEnd()) copy += bytes.TakeChunk();
  return copy;
}

}  // namespace activescale::ingest
