// google.protobuf.Struct and Value are read without building them: a list of the pieces of a
// message is its merge, and of a map's entries with the same key the last one counts.
#include "ingest/node.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace activescale::ingest {
namespace {

using Pieces = std::vector<WireCursor>;

/// Calls `visit(tag, payload)` for each length-delimited field of a valid message, and
/// `visit(tag, {})` for each other one.
template <typename Visit>
void ForEachField(WireCursor message, Visit visit) {
  for (Tag tag; !message.AtEnd();) {
    WireCursor payload;
    if (!message.ReadTag(&tag)) return;
    const bool ok = tag.type() == WireType::kLength ? message.ReadPayload(&payload)
                                                    : message.SkipField(tag, kMaxDepth);
    if (!ok) return;
    visit(tag, payload);
  }
}

/// The pieces of a sub-message of `pieces`.
Pieces Descend(std::span<const WireCursor> pieces, uint32_t number) {
  Pieces found;
  for (const WireCursor& piece : pieces) {
    ForEachField(piece, [&](Tag tag, const WireCursor& payload) {
      if (tag.number() == number && tag.type() == WireType::kLength) found.push_back(payload);
    });
  }
  return found;
}

/// A google.protobuf.Value, of which strings and structs matter.
struct Value {
  enum class Kind : uint8_t { kOther, kString, kStruct };
  Kind kind = Kind::kOther;
  WireCursor string;
  Pieces struct_pieces;
};

// The members of Value's oneof and the wire types they have.
constexpr uint32_t kValueString = 3;
constexpr uint32_t kValueStruct = 5;
constexpr std::array<std::pair<uint32_t, WireType>, 6> kValueMembers = {{
    {1, WireType::kVarint},
    {2, WireType::kFixed64},
    {kValueString, WireType::kLength},
    {4, WireType::kVarint},
    {kValueStruct, WireType::kLength},
    {6, WireType::kLength},
}};

bool IsValueMember(Tag tag) {
  for (const auto& [number, type] : kValueMembers) {
    if (tag.number() == number && tag.type() == type) return true;
  }
  return false;
}

/// The last member set counts; structs that follow each other are merged.
Value MergeValue(std::span<const WireCursor> pieces) {
  Value value;
  for (const WireCursor& piece : pieces) {
    ForEachField(piece, [&](Tag tag, const WireCursor& payload) {
      if (!IsValueMember(tag)) return;
      if (tag.number() == kValueStruct) {
        if (value.kind != Value::Kind::kStruct) value = {Value::Kind::kStruct, {}, {}};
        value.struct_pieces.push_back(payload);
      } else if (tag.number() == kValueString) {
        value = {Value::Kind::kString, payload, {}};
      } else {
        value = {};
      }
    });
  }
  return value;
}

/// Calls `visit(key, value)` for each entry of a Struct in wire order: a later one of the same key
/// replaces an earlier one.
template <typename Visit>
void ForEachEntry(std::span<const WireCursor> struct_pieces, Visit visit) {
  for (const WireCursor& entry : Descend(struct_pieces, 1)) {
    const Pieces keys = Descend({&entry, 1}, 1);
    const std::string key = keys.empty() ? std::string() : keys.back().ToString();
    visit(key, Descend({&entry, 1}, 2));
  }
}

std::map<std::string, std::string> DecodeLabels(std::span<const WireCursor> struct_pieces) {
  std::map<std::string, std::string> labels;
  ForEachEntry(struct_pieces, [&](const std::string& key, const Pieces& value_pieces) {
    const Value value = MergeValue(value_pieces);
    if (value.kind == Value::Kind::kString) {
      labels[key] = value.string.ToString();
    } else {
      labels.erase(key);
    }
  });
  return labels;
}

void DecodeMetadata(std::span<const WireCursor> struct_pieces, Node& node) {
  const std::array<std::pair<std::string_view, std::optional<std::string>*>, 5> strings = {{
      {"NAME", &node.name},
      {"NAMESPACE", &node.ns},
      {"WORKLOAD_NAME", &node.workload_name},
      {"CLUSTER_ID", &node.cluster_id},
      {"INSTANCE_IPS", &node.instance_ips},
  }};
  ForEachEntry(struct_pieces, [&](const std::string& key, const Pieces& value_pieces) {
    if (key == "LABELS") {
      const Value value = MergeValue(value_pieces);
      node.labels = DecodeLabels(value.struct_pieces);
      return;
    }
    for (const auto& [name, member] : strings) {
      if (key != name) continue;
      const Value value = MergeValue(value_pieces);
      member->reset();
      if (value.kind == Value::Kind::kString) *member = value.string.ToString();
    }
  });
}

}  // namespace

std::optional<Node> DecodeNode(std::span<const WireCursor> identifiers) {
  const Pieces nodes = Descend(identifiers, 1);
  if (nodes.empty()) return std::nullopt;
  Node node;
  if (const Pieces ids = Descend(nodes, 1); !ids.empty()) node.id = ids.back().ToString();
  DecodeMetadata(Descend(nodes, 3), node);
  return node;
}

}  // namespace activescale::ingest
