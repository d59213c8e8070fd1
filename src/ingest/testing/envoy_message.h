#pragma once

#include <envoy/service/metrics/v3/metrics_service.pb.h>

#include <cstdint>
#include <map>
#include <string>

namespace activescale::ingest {

/// Builds a StreamMetricsMessage as Envoy would, by protobuf.
class EnvoyMessage {
 public:
  EnvoyMessage() = default;
  /// With a node whose metadata names the pod.
  EnvoyMessage(const std::string& ns, const std::string& pod) {
    Metadata("NAMESPACE", ns).Metadata("NAME", pod);
  }

  EnvoyMessage& NodeId(const std::string& id) {
    message_.mutable_identifier()->mutable_node()->set_id(id);
    return *this;
  }
  EnvoyMessage& Metadata(const std::string& key, const std::string& value) {
    Field(key).set_string_value(value);
    return *this;
  }
  EnvoyMessage& PodLabel(const std::string& key, const std::string& value) {
    auto& labels = *Field("LABELS").mutable_struct_value()->mutable_fields();
    labels[key].set_string_value(value);
    return *this;
  }
  /// The timestamp of the gauges that are added after this.
  EnvoyMessage& At(int64_t timestamp_ms) {
    timestamp_ms_ = timestamp_ms;
    return *this;
  }
  EnvoyMessage& Gauge(const std::string& name, double value,
                      const std::map<std::string, std::string>& labels = {}) {
    auto* family = message_.add_envoy_metrics();
    family->set_name(name);
    family->set_type(io::prometheus::client::GAUGE);
    auto* metric = family->add_metric();
    metric->mutable_gauge()->set_value(value);
    if (timestamp_ms_ != 0) metric->set_timestamp_ms(timestamp_ms_);
    for (const auto& [key, text] : labels) {
      auto* label = metric->add_label();
      label->set_name(key);
      label->set_value(text);
    }
    return *this;
  }

  [[nodiscard]] std::string Bytes() const { return message_.SerializeAsString(); }
  [[nodiscard]] envoy::service::metrics::v3::StreamMetricsMessage& proto() { return message_; }

 private:
  google::protobuf::Value& Field(const std::string& key) {
    auto& metadata = *message_.mutable_identifier()->mutable_node()->mutable_metadata();
    return (*metadata.mutable_fields())[key];
  }

  envoy::service::metrics::v3::StreamMetricsMessage message_;
  int64_t timestamp_ms_ = 0;
};

}  // namespace activescale::ingest
