#pragma once

#include <cstdint>
#include <span>

#include "ingest/wire_cursor.h"

namespace activescale::ingest {

struct MessageSchema;

/// A field whose content protobuf looks into: a sub-message, or a string that must be UTF-8.
struct FieldSchema {
  uint32_t number = 0;
  const MessageSchema* message = nullptr;  // null: a proto3 string
};

/// The fields of a message that are more than their wire type says; all others are passed over.
struct MessageSchema {
  std::span<const FieldSchema> fields;
};

/// The messages that are decoded; numbers as in proto/.
extern const MessageSchema kIdentifierSchema;
extern const MessageSchema kMetricFamilySchema;

/// Whether protobuf's C++ parser would accept `bytes` as this message. `depth` is how many more
/// levels may be nested: kMaxDepth for the outermost message.
[[nodiscard]] bool Validate(WireCursor bytes, const MessageSchema& schema, int depth);

}  // namespace activescale::ingest
