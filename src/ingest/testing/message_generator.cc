#include "ingest/testing/message_generator.h"

#include <array>
#include <bit>
#include <cstring>

namespace activescale::ingest {
namespace {

constexpr std::array<std::string_view, 14> kNames = {
    "http.inbound_0.0.0.0_8080;.downstream_rq_active",
    "http.outbound_0.0.0.0_8080;.downstream_rq_active",
    "http.inbound_0.0.0.0_8080.downstream_rq_active",
    "http.downstream_rq_active",
    "http.admin.downstream_rq_active",
    "http.0.0.0_8080.downstream_rq_active",
    "listener.0.0.0.0_8080.downstream_cx_active",
    "listener.downstream_cx_active",
    "listener.[__]_8080.downstream_cx_active",
    "cluster.xds-grpc;.circuit_breakers.default.cx_pool_open",
    "http.inbound_0.0.0.0_8080;.downstream_rq_total",
    "server.live",
    "h",
    "",
};
constexpr std::array<std::string_view, 7> kKeys = {
    "NAME", "NAMESPACE", "LABELS", "WORKLOAD_NAME", "CLUSTER_ID", "INSTANCE_IPS", "app"};
constexpr std::array<std::string_view, 8> kTexts = {"web-0",
                                                    "shop",
                                                    "",
                                                    "inbound_0.0.0.0_8080",
                                                    "sidecar~10.0.0.1~web-0.shop~shop.svc.c",
                                                    "\xED\x95\x9C\xEA\xB5\xAD",
                                                    "\xF0\x9F\x9A\x80 up",
                                                    "\x7F"};
constexpr std::array<std::string_view, 8> kSpoiledTexts = {
    "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80",
    "ab\xFF",   "\xE2\x82",     "\xF8\x88",         "\xC3"};
constexpr std::array<double, 8> kDoubles = {0, 1, 3, 0.5, -1, 1e300, 12345.678, -0.0};

constexpr int kSomeDepth = 4;

}  // namespace

std::string MessageGenerator::Next() {
  spoiled_text_ = OneIn(10);
  std::string message;
  Message(message, 0);
  switch (Below(3)) {
    case 0:
      break;
    case 1:
      message.resize(Below(static_cast<uint32_t>(message.size()) + 1));
      break;
    default:
      for (uint32_t i = Below(4); i > 0 && !message.empty(); --i) {
        const size_t at = Below(static_cast<uint32_t>(message.size()));
        switch (Below(4)) {
          case 0:
            message[at] = static_cast<char>(Below(256));
            break;
          case 1:
            message[at] = static_cast<char>(message[at] ^ (1 << Below(8)));
            break;
          case 2:
            message.insert(at, 1, static_cast<char>(Below(256)));
            break;
          default:
            message.erase(at, 1 + Below(3));
        }
      }
  }
  return message;
}

void MessageGenerator::Varint(std::string& out, uint64_t value) {
  size_t size = 1;
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
    ++size;
  }
  if (!OneIn(200)) {
    out.push_back(static_cast<char>(value));
    return;
  }
  out.push_back(static_cast<char>(value | 0x80));
  for (size_t padding = Below(10); padding > 0 && size < 12; --padding, ++size)
    out.push_back('\x80');
  out.push_back(OneIn(4) ? static_cast<char>(Below(256)) : '\0');
}

void MessageGenerator::TagOf(std::string& out, uint32_t number, uint32_t type) {
  Varint(out, number << 3 | type);
}

void MessageGenerator::Bytes(std::string& out, uint32_t number, std::string_view bytes) {
  TagOf(out, number, 2);
  Varint(out, bytes.size());
  out += bytes;
}

void MessageGenerator::Double(std::string& out, uint32_t number) {
  TagOf(out, number, 1);
  const auto bits = std::bit_cast<std::array<char, 8>>(kDoubles[Below(kDoubles.size())]);
  out.append(bits.data(), bits.size());
}

void MessageGenerator::Number(std::string& out, uint32_t number) {
  TagOf(out, number, 0);
  Varint(out, OneIn(8) ? random_() : Below(1000));
}

void MessageGenerator::Unknown(std::string& out, int depth) {
  const uint32_t number = OneIn(8) ? (1U << 29) - 1 : 1 + Below(20);
  switch (Below(5)) {
    case 0:
      return Number(out, number);
    case 1:
      return Double(out, number);
    case 2:
      return Bytes(out, number, Text());
    case 3:
      TagOf(out, number, 5);
      out += "abcd";
      return;
    default: {
      const uint32_t levels = OneIn(50) ? 90 + Below(20) : 1 + Below(3);
      for (uint32_t i = 0; i < levels; ++i) TagOf(out, number, 3);
      if (depth < kSomeDepth) Unknown(out, depth + 1);
      for (uint32_t i = 0; i < levels; ++i) TagOf(out, OneIn(400) ? number + 1 : number, 4);
    }
  }
}

std::string MessageGenerator::Text() {
  if (spoiled_text_ && OneIn(6)) return std::string(kSpoiledTexts[Below(kSpoiledTexts.size())]);
  return std::string(kTexts[Below(kTexts.size())]);
}

void MessageGenerator::Sub(std::string& out, uint32_t number, Member member, int depth) {
  for (uint32_t parts = OneIn(12) ? 2 : 1; parts > 0; --parts) {
    std::string body;
    (this->*member)(body, depth + 1);
    if (OneIn(40)) Unknown(body, depth + 1);
    Bytes(out, number, body);
  }
  if (OneIn(40)) Unknown(out, depth);
}

void MessageGenerator::Message(std::string& out, int depth) {
  if (OneIn(3)) Sub(out, 1, &MessageGenerator::Identifier, depth);
  for (uint32_t i = Below(6); i > 0; --i) Sub(out, 2, &MessageGenerator::Family, depth);
  if (OneIn(10)) Sub(out, 1, &MessageGenerator::Identifier, depth);
}

void MessageGenerator::Identifier(std::string& out, int depth) {
  if (!OneIn(10)) Sub(out, 1, &MessageGenerator::Node, depth);
}

void MessageGenerator::Node(std::string& out, int depth) {
  if (!OneIn(3)) Bytes(out, 1, Text());
  if (OneIn(4)) Bytes(out, 2, Text());
  if (!OneIn(4)) Sub(out, 3, &MessageGenerator::Struct, depth);
  if (OneIn(4)) Sub(out, 4, &MessageGenerator::LabelPair, depth);  // Locality has such strings
  if (OneIn(4)) Bytes(out, 6, Text());
  if (OneIn(4)) Bytes(out, 7, Text());
  if (OneIn(4)) Sub(out, 8, &MessageGenerator::BuildVersion, depth);
  if (OneIn(4)) Sub(out, 9, &MessageGenerator::Extension, depth);
  if (OneIn(4)) Bytes(out, 10, Text());
}

void MessageGenerator::BuildVersion(std::string& out, int depth) {
  if (OneIn(2)) Sub(out, 1, &MessageGenerator::Gauge, depth);
  if (OneIn(4)) Sub(out, 2, &MessageGenerator::Struct, depth);
}

void MessageGenerator::Extension(std::string& out, int depth) {
  Bytes(out, 1, Text());
  if (OneIn(2)) Sub(out, 4, &MessageGenerator::BuildVersion, depth);
  if (OneIn(2)) Number(out, 5);
  if (OneIn(2)) Bytes(out, 6, Text());
}

void MessageGenerator::Struct(std::string& out, int depth) {
  const int entries = depth > 8 ? 0 : static_cast<int>(Below(depth < 5 ? 8 : 3));
  for (int i = 0; i < entries; ++i) Sub(out, 1, &MessageGenerator::StructEntry, depth);
}

void MessageGenerator::StructEntry(std::string& out, int depth) {
  if (!OneIn(10)) Bytes(out, 1, OneIn(10) ? Text() : std::string(kKeys[Below(kKeys.size())]));
  if (!OneIn(10)) Sub(out, 2, &MessageGenerator::Value, depth);
  if (OneIn(20)) Bytes(out, 1, kKeys[Below(kKeys.size())]);
  if (OneIn(20)) Number(out, 2);
}

void MessageGenerator::Value(std::string& out, int depth) {
  for (uint32_t i = OneIn(10) ? 2 : 1; i > 0; --i) {
    switch (Below(9)) {
      case 0:
        Number(out, 1);
        break;
      case 1:
        Double(out, 2);
        break;
      case 2:
        Number(out, 4);
        break;
      case 3:
        Sub(out, 6, &MessageGenerator::ListValue, depth);
        break;
      case 4:
        Sub(out, 5, &MessageGenerator::Struct, depth);
        break;
      case 5:
        if (OneIn(8)) Number(out, 3);
        break;
      default:
        Bytes(out, 3, Text());
    }
  }
}

void MessageGenerator::ListValue(std::string& out, int depth) {
  if (depth > 8) return;
  for (uint32_t i = Below(3); i > 0; --i) Sub(out, 1, &MessageGenerator::Value, depth);
}

void MessageGenerator::Family(std::string& out, int depth) {
  if (!OneIn(10)) Bytes(out, 1, kNames[Below(kNames.size())]);
  if (OneIn(10)) Bytes(out, 2, Text());
  Number(out, 3);
  for (uint32_t i = OneIn(4) ? Below(4) : 1; i > 0; --i) {
    Sub(out, 4, &MessageGenerator::Metric, depth);
  }
  if (OneIn(10)) Bytes(out, 1, kNames[Below(kNames.size())]);
}

void MessageGenerator::Metric(std::string& out, int depth) {
  for (uint32_t i = OneIn(3) ? Below(3) : 0; i > 0; --i) {
    Sub(out, 1, &MessageGenerator::LabelPair, depth);
  }
  if (!OneIn(5)) Sub(out, 2, &MessageGenerator::Gauge, depth);
  if (OneIn(10)) Sub(out, 3, &MessageGenerator::Counter, depth);
  if (OneIn(10)) Sub(out, 5, &MessageGenerator::Gauge, depth);
  if (!OneIn(5)) Number(out, 6);
  if (OneIn(10)) Sub(out, 7, &MessageGenerator::Histogram, depth);
}

void MessageGenerator::LabelPair(std::string& out, int) {
  Bytes(out, 1, OneIn(2) ? "envoy.http_conn_manager_prefix" : Text());
  Bytes(out, 2, Text());
}

void MessageGenerator::Gauge(std::string& out, int) {
  if (!OneIn(8)) Double(out, 1);
  if (OneIn(20)) Number(out, 1);
}

void MessageGenerator::Counter(std::string& out, int depth) {
  Double(out, 1);
  Sub(out, 2, &MessageGenerator::Exemplar, depth);
}

void MessageGenerator::Exemplar(std::string& out, int depth) {
  Sub(out, 1, &MessageGenerator::LabelPair, depth);
  Double(out, 2);
  Sub(out, 3, &MessageGenerator::Gauge, depth);
}

void MessageGenerator::Histogram(std::string& out, int depth) {
  Number(out, 1);
  Double(out, 2);
  Sub(out, 3, &MessageGenerator::Bucket, depth);
}

void MessageGenerator::Bucket(std::string& out, int depth) {
  Number(out, 1);
  Double(out, 2);
  if (OneIn(2)) Sub(out, 3, &MessageGenerator::Exemplar, depth);
}

Fragments::Fragments(std::string_view bytes, size_t size) {
  if (size == 0) size = bytes.size();
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, size);
    auto* copy = new char[piece.size()];
    std::memcpy(copy, piece.data(), piece.size());
    slices_.emplace_back(copy, piece.size());
    bytes.remove_prefix(piece.size());
  }
}

Fragments::~Fragments() {
  for (const std::string_view slice : slices_) delete[] slice.data();
}

}  // namespace activescale::ingest
