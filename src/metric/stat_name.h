#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metric/metric_kind.h"

namespace activescale::metric {

/// One label of a family whose tags Envoy sent as labels; not owned.
struct LabelView {
  std::string_view name;
  std::string_view value;
};

/// Which of Envoy's stat names are metrics of ours. Immutable after construction. Threads: any.
///
/// With full names: `http.<prefix>.downstream_rq_active`, Istio's
/// `http.<prefix>;.downstream_rq_active` and `listener.<address>.downstream_cx_active`. With
/// `emit_tags_as_labels` Envoy cuts the tag out of the name and sends it as a label, of a prefix
/// with dots only the part before the first one: `http.0.0.0_8080.downstream_rq_active` with
/// `envoy.http_conn_manager_prefix=inbound_0`. Source:
/// envoyproxy/envoy:source/common/config/well_known_names.cc and, for names and tags of Istio,
/// istio/istio:tools/packaging/common/envoy_bootstrap.json.
class StatNameRules {
 public:
  /// `inbound_*` and `outbound_*`, the prefixes of Istio's connection managers.
  StatNameRules();
  /// Globs over the stat prefix of an HTTP connection manager: `*` is any run of characters (also
  /// dots), `?` one character. A prefix that matches both lists is inbound.
  StatNameRules(std::vector<std::string> inbound_prefixes,
                std::vector<std::string> outbound_prefixes);

  /// The cheap first look, from the name alone: false for nearly every family of a flush. Only a
  /// candidate's labels and values need to be decoded, for Classify. No allocation.
  [[nodiscard]] static constexpr bool IsCandidate(std::string_view name) {
    // Eight bytes are one comparison in a register; few names get beyond it.
    if (name.ends_with("q_active")) {
      return name.ends_with(kRequestsSuffix) && name.starts_with("http.");
    }
    if (name.ends_with("x_active")) {
      return name.ends_with(kConnectionsSuffix) && name.starts_with("listener.");
    }
    return false;
  }

  /// The metric that a family of this name, or a series of it with these labels, belongs to;
  /// nothing for all that is not traffic of the pod: admin, agent and stats listeners, Istio's
  /// reserved ports, breakdowns by worker. Labels of other names are ignored. No allocation.
  [[nodiscard]] std::optional<MetricKind> Classify(std::string_view name,
                                                   std::span<const LabelView> labels = {}) const;

 private:
  static constexpr std::string_view kRequestsSuffix = ".downstream_rq_active";
  static constexpr std::string_view kConnectionsSuffix = ".downstream_cx_active";

  [[nodiscard]] std::optional<MetricKind> ClassifyRequests(std::string_view name,
                                                           std::span<const LabelView> labels) const;
  [[nodiscard]] static std::optional<MetricKind> ClassifyConnections(
      std::string_view name, std::span<const LabelView> labels);

  std::vector<std::string> inbound_;
  std::vector<std::string> outbound_;
};

}  // namespace activescale::metric
