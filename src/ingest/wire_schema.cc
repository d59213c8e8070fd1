#include "ingest/wire_schema.h"

#include <array>

namespace activescale::ingest {
namespace {

constexpr FieldSchema Utf8(uint32_t number) { return {number, nullptr}; }
constexpr FieldSchema Message(uint32_t number, const MessageSchema& schema) {
  return {number, &schema};
}

constexpr MessageSchema kScalarsOnly{};

// google.protobuf.Struct and Value contain each other.
extern const MessageSchema kStruct;
extern const MessageSchema kValue;
constinit const std::array kListValueFields = {Message(1, kValue)};
constinit const MessageSchema kListValue{kListValueFields};
constinit const std::array kValueFields = {Utf8(3), Message(5, kStruct), Message(6, kListValue)};
constinit const MessageSchema kValue{kValueFields};
constinit const std::array kStructEntryFields = {Utf8(1), Message(2, kValue)};
constinit const MessageSchema kStructEntry{kStructEntryFields};
constinit const std::array kStructFields = {Message(1, kStructEntry)};
constinit const MessageSchema kStruct{kStructFields};

constinit const std::array kLocalityFields = {Utf8(1), Utf8(2), Utf8(3)};
constinit const MessageSchema kLocality{kLocalityFields};
constinit const std::array kBuildVersionFields = {Message(1, kScalarsOnly), Message(2, kStruct)};
constinit const MessageSchema kBuildVersion{kBuildVersionFields};
constinit const std::array kExtensionFields = {Utf8(1), Utf8(2), Utf8(3), Message(4, kBuildVersion),
                                               Utf8(6)};
constinit const MessageSchema kExtension{kExtensionFields};
constinit const std::array kNodeFields = {
    Utf8(1), Utf8(2), Message(3, kStruct),       Message(4, kLocality),
    Utf8(6), Utf8(7), Message(8, kBuildVersion), Message(9, kExtension),
    Utf8(10)};
constinit const MessageSchema kNode{kNodeFields};
constinit const std::array kIdentifierFields = {Message(1, kNode)};

// Prometheus's messages are proto2, whose strings may be any bytes.
constinit const std::array kExemplarFields = {Message(1, kScalarsOnly), Message(3, kScalarsOnly)};
constinit const MessageSchema kExemplar{kExemplarFields};
constinit const std::array kCounterFields = {Message(2, kExemplar)};
constinit const MessageSchema kCounter{kCounterFields};
constinit const std::array kSummaryFields = {Message(3, kScalarsOnly)};
constinit const MessageSchema kSummary{kSummaryFields};
constinit const std::array kBucketFields = {Message(3, kExemplar)};
constinit const MessageSchema kBucket{kBucketFields};
constinit const std::array kHistogramFields = {Message(3, kBucket)};
constinit const MessageSchema kHistogram{kHistogramFields};
constinit const std::array kMetricFields = {Message(1, kScalarsOnly), Message(2, kScalarsOnly),
                                            Message(3, kCounter),     Message(4, kSummary),
                                            Message(5, kScalarsOnly), Message(7, kHistogram)};
constinit const MessageSchema kMetric{kMetricFields};
constinit const std::array kMetricFamilyFields = {Message(4, kMetric)};

}  // namespace

constinit const MessageSchema kIdentifierSchema{kIdentifierFields};
constinit const MessageSchema kMetricFamilySchema{kMetricFamilyFields};

bool Validate(WireCursor bytes, const MessageSchema& schema, int depth) {
  for (Tag tag; !bytes.AtEnd();) {
    if (!bytes.ReadTag(&tag)) return false;
    const auto field = std::ranges::find(schema.fields, tag.number(), &FieldSchema::number);
    if (tag.type() != WireType::kLength || field == schema.fields.end()) {
      if (!bytes.SkipField(tag, depth)) return false;
      continue;
    }
    WireCursor payload;
    if (!bytes.ReadPayload(&payload)) return false;
    if (field->message == nullptr) {
      if (!IsUtf8(payload)) return false;
    } else if (depth <= 0 || !Validate(payload, *field->message, depth - 1)) {
      return false;
    }
  }
  return true;
}

}  // namespace activescale::ingest
