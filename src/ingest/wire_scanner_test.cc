#include "ingest/wire_scanner.h"

#include <envoy/service/metrics/v3/metrics_service.pb.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "ingest/node.h"
#include "ingest/testing/message_generator.h"

namespace activescale::ingest {
namespace {

using envoy::service::metrics::v3::StreamMetricsMessage;
using io::prometheus::client::MetricFamily;
using testing::ElementsAre;

constexpr std::array<size_t, 11> kFragmentSizes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 31};

struct Sample {
  std::vector<std::pair<std::string, std::string>> labels;
  std::optional<uint64_t> gauge_bits;  // so that -0 and NaN compare

  friend bool operator==(const Sample&, const Sample&) = default;
};

/// What a message says, read by either reader.
struct Reading {
  bool accepted = false;
  bool has_node = false;
  std::string id;
  std::map<std::string, std::string> strings;
  std::map<std::string, std::string> labels;
  std::optional<int64_t> timestamp_ms;
  std::vector<std::pair<std::string, std::vector<Sample>>> families;
  uint32_t skipped_families = 0;

  friend bool operator==(const Reading&, const Reading&) = default;
};

void ReadNode(const ScannedMessage& message, Reading& reading) {
  const std::optional<Node> node = DecodeNode(message.identifiers);
  reading.has_node = node.has_value();
  if (!node) return;
  reading.id = node->id;
  reading.labels = node->labels;
  const std::pair<const char*, const std::optional<std::string>*> strings[] = {
      {"NAME", &node->name},
      {"NAMESPACE", &node->ns},
      {"WORKLOAD_NAME", &node->workload_name},
      {"CLUSTER_ID", &node->cluster_id},
      {"INSTANCE_IPS", &node->instance_ips}};
  for (const auto& [key, value] : strings) {
    if (*value) reading.strings[key] = **value;
  }
}

Reading ReadByScanner(WireScanner& scanner, Slices slices) {
  Reading reading;
  const ScannedMessage* message = scanner.Scan(slices);
  if (message == nullptr) return reading;
  reading.accepted = true;
  ReadNode(*message, reading);
  reading.timestamp_ms = message->timestamp_ms;
  reading.skipped_families = message->skipped_families;
  for (const ScannedFamily& family : message->families) {
    std::vector<Sample> samples;
    for (const ScannedSample& scanned : message->SamplesOf(family)) {
      Sample& sample = samples.emplace_back();
      for (const metric::LabelView& label : message->LabelsOf(scanned)) {
        sample.labels.emplace_back(label.name, label.value);
      }
      if (scanned.gauge) sample.gauge_bits = std::bit_cast<uint64_t>(*scanned.gauge);
    }
    reading.families.emplace_back(family.name, samples);
  }
  return reading;
}

void ReadNode(const StreamMetricsMessage& message, Reading& reading) {
  reading.has_node = message.identifier().has_node();
  const auto& node = message.identifier().node();
  reading.id = node.id();
  for (const auto& [key, value] : node.metadata().fields()) {
    if (key == "LABELS") {
      for (const auto& [label, text] : value.struct_value().fields()) {
        if (text.has_string_value()) reading.labels[label] = text.string_value();
      }
    } else if (value.has_string_value()) {
      for (const char* known :
           {"NAME", "NAMESPACE", "WORKLOAD_NAME", "CLUSTER_ID", "INSTANCE_IPS"}) {
        if (key == known) reading.strings[key] = value.string_value();
      }
    }
  }
}

Reading ReadByProtobuf(const std::string& bytes) {
  const google::protobuf::LogSilencer silencer;  // it logs each text that is not UTF-8
  Reading reading;
  StreamMetricsMessage message;
  if (!message.ParseFromString(bytes)) return reading;
  reading.accepted = true;
  ReadNode(message, reading);
  for (const MetricFamily& family : message.envoy_metrics()) {
    std::vector<Sample> samples;
    for (const auto& metric : family.metric()) {
      if (!reading.timestamp_ms && metric.timestamp_ms() != 0) {
        reading.timestamp_ms = metric.timestamp_ms();
      }
      Sample& sample = samples.emplace_back();
      for (const auto& label : metric.label()) {
        sample.labels.emplace_back(label.name(), label.value());
      }
      if (metric.has_gauge()) sample.gauge_bits = std::bit_cast<uint64_t>(metric.gauge().value());
    }
    if (metric::StatNameRules::IsCandidate(family.name())) {
      reading.families.emplace_back(family.name(), samples);
    } else {
      ++reading.skipped_families;
    }
  }
  return reading;
}

/// The message without the families that may be passed over: judged by protobuf's own reading of
/// their outermost fields.
std::string WithoutSkippedFamilies(const std::string& bytes) {
  google::protobuf::Empty skeleton;
  if (!skeleton.ParseFromString(bytes)) return bytes;
  google::protobuf::Empty kept;
  const auto& fields = skeleton.GetReflection()->GetUnknownFields(skeleton);
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() == 2 &&
        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      google::protobuf::Empty family;
      std::string name;
      if (family.ParseFromString(field.length_delimited())) {
        const auto& members = family.GetReflection()->GetUnknownFields(family);
        for (int j = 0; j < members.field_count(); ++j) {
          const auto& member = members.field(j);
          if (member.number() == 1 &&
              member.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
            name = member.length_delimited();
          }
        }
        if (!metric::StatNameRules::IsCandidate(name)) continue;
      }
    }
    kept.GetReflection()->MutableUnknownFields(&kept)->AddField(field);
  }
  return kept.SerializeAsString();
}

std::string Hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return text;
}

/// The rule of the scanner: equal to protobuf where protobuf accepts, and where only the scanner
/// accepts, the fault is in a family that it passed over.
void ExpectAgreement(WireScanner& scanner, const std::string& bytes, size_t fragment_size) {
  const Fragments fragments(bytes, fragment_size);
  const Reading scanned = ReadByScanner(scanner, fragments.slices());
  const Reading parsed = ReadByProtobuf(bytes);
  if (parsed.accepted) {
    ASSERT_EQ(scanned, parsed) << "fragments of " << fragment_size << ": " << Hex(bytes);
  } else if (scanned.accepted) {
    ASSERT_TRUE(ReadByProtobuf(WithoutSkippedFamilies(bytes)).accepted)
        << "a fault outside skipped families was not seen: " << Hex(bytes);
  }
}

/// ACTIVESCALE_SCANNER_MESSAGES sets how many generated messages are compared.
int GeneratedMessages() {
  const char* wanted =
      std::getenv("ACTIVESCALE_SCANNER_MESSAGES");  // NOLINT(concurrency-mt-unsafe)
  return wanted == nullptr ? 100'000 : std::atoi(wanted);
}

TEST(WireScannerTest, AgreesWithProtobufOnGeneratedMessages) {
  MessageGenerator generator(20240601);
  WireScanner scanner;
  int accepted = 0;
  const int total = GeneratedMessages();
  for (int i = 0; i < total; ++i) {
    const std::string bytes = generator.Next();
    const size_t fragment_size = kFragmentSizes[generator.Below(kFragmentSizes.size())];
    ExpectAgreement(scanner, bytes, fragment_size);
    ASSERT_FALSE(HasFatalFailure()) << "message " << i;
    if (i % 16 == 0) accepted += ReadByProtobuf(bytes).accepted ? 16 : 0;
  }
  EXPECT_GT(accepted, total / 5) << "the generator makes too few valid messages to compare";
  EXPECT_LT(accepted, total * 4 / 5) << "the generator makes too few malformed messages";
}

MetricFamily Gauge(const std::string& name, double value,
                   int64_t timestamp_ms = 1'700'000'000'000) {
  MetricFamily family;
  family.set_name(name);
  family.set_type(io::prometheus::client::GAUGE);
  auto* metric = family.add_metric();
  metric->mutable_gauge()->set_value(value);
  metric->set_timestamp_ms(timestamp_ms);
  return family;
}

TEST(WireScannerTest, ReadsTheSameHoweverTheMessageIsCut) {
  StreamMetricsMessage message;
  auto* node = message.mutable_identifier()->mutable_node();
  node->set_id("sidecar~10.0.0.1~web-0.shop~shop.svc.cluster.local");
  (*node->mutable_metadata()->mutable_fields())["NAME"].set_string_value("web-0");
  *message.add_envoy_metrics() = Gauge("cluster.xds-grpc;.upstream_cx_active", 1);
  *message.add_envoy_metrics() = Gauge("http.inbound_0.0.0.0_8080;.downstream_rq_active", 3);
  *message.add_envoy_metrics() = Gauge("listener.0.0.0.0_8080.downstream_cx_active", 12);
  const std::string bytes = message.SerializeAsString();
  WireScanner scanner;
  for (const size_t size : kFragmentSizes) ExpectAgreement(scanner, bytes, size);
}

TEST(WireScannerTest, EveryTruncationAndEveryChangedByteAgreesWithProtobuf) {
  MessageGenerator generator(7);
  WireScanner scanner;
  StreamMetricsMessage message;
  auto& metadata = *message.mutable_identifier()->mutable_node()->mutable_metadata();
  (*metadata.mutable_fields())["NAME"].set_string_value("web-0");
  *message.add_envoy_metrics() = Gauge("http.inbound_0.0.0.0_8080;.downstream_rq_active", 3);
  const std::string bytes = message.SerializeAsString();
  for (size_t at = 0; at < bytes.size(); ++at) {
    ExpectAgreement(scanner, bytes.substr(0, at), 5);
    std::string changed = bytes;
    for (int value = 0; value < 256; ++value) {
      changed[at] = static_cast<char>(value);
      ExpectAgreement(scanner, changed, kFragmentSizes[value % kFragmentSizes.size()]);
    }
  }
}

TEST(WireScannerTest, NestingAsDeepAsProtobufAllowsIsAccepted) {
  WireScanner scanner;
  for (int levels = 85; levels < 110; ++levels) {
    std::string groups;
    for (int i = 0; i < levels; ++i) groups += "\x7B";  // field 15, start of a group
    for (int i = 0; i < levels; ++i) groups += "\x7C";
    ExpectAgreement(scanner, groups, 0);
    StreamMetricsMessage message;
    auto* value = &(*message.mutable_identifier()
                         ->mutable_node()
                         ->mutable_metadata()
                         ->mutable_fields())["NAME"];
    for (int i = 0; i < levels / 2; ++i) value = value->mutable_list_value()->add_values();
    ExpectAgreement(scanner, message.SerializeAsString(), 3);
  }
}

TEST(WireScannerTest, TimestampIsTakenFromFamiliesThatDoNotMatter) {
  StreamMetricsMessage message;
  *message.add_envoy_metrics() = Gauge("server.live", 1, 0);
  *message.add_envoy_metrics() = Gauge("server.uptime", 1, 1234);
  *message.add_envoy_metrics() = Gauge("http.inbound_a.downstream_rq_active", 1, 5678);
  const std::string bytes = message.SerializeAsString();
  const std::vector<std::string_view> slices = {bytes};
  WireScanner scanner;
  const ScannedMessage* scanned = scanner.Scan(slices);
  ASSERT_NE(scanned, nullptr);
  EXPECT_EQ(scanned->timestamp_ms, 1234);
  EXPECT_EQ(scanned->skipped_families, 2u);
}

TEST(WireScannerTest, SkippedNamesAreListedOnlyIfAskedFor) {
  StreamMetricsMessage message;
  *message.add_envoy_metrics() = Gauge("server.live", 1);
  *message.add_envoy_metrics() = Gauge("listener.admin.downstream_cx_total", 1);
  const Fragments fragments(message.SerializeAsString(), 3);
  WireScanner scanner;
  EXPECT_TRUE(scanner.Scan(fragments.slices())->skipped_names.empty());
  EXPECT_THAT(scanner.Scan(fragments.slices(), true)->skipped_names,
              ElementsAre("server.live", "listener.admin.downstream_cx_total"));
}

TEST(WireScannerTest, BuffersOfAHugeMessageAreNotKept) {
  StreamMetricsMessage message;
  auto* family = message.add_envoy_metrics();
  *family = Gauge("http.inbound_a.downstream_rq_active", 1);
  for (int i = 0; i < 20'000; ++i) {
    auto* label = family->add_metric()->add_label();
    label->set_name("name");
    label->set_value("value");
  }
  const std::string bytes = message.SerializeAsString();
  const std::vector<std::string_view> slices = {bytes};
  WireScanner scanner;
  EXPECT_EQ(scanner.Scan(slices)->samples.size(), 20'001u);
  EXPECT_LE(scanner.Scan({})->samples.capacity(), 4096u);
}

}  // namespace
}  // namespace activescale::ingest
