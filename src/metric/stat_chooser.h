#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "metric/stat_name.h"

namespace re2 {
class RE2;
}

namespace activescale::metric {

/// A gauge or a counter of an Envoy whose name was chosen; not owned.
struct ChosenStat {
  std::string_view name;  // as Envoy sent it
  std::span<const LabelView> labels;
  double value = 0;
  bool counter = false;
};

/// Which of Envoy's stats, besides those that are metrics of ours, become series, and under which
/// names. Immutable. Threads: any.
class StatChooser {
 public:
  /// `patterns` are RE2 expressions that must match a whole stat name; time is linear in its
  /// length. Errors: kInvalidArgument: one does not compile, or a group has a name that is no
  /// label.
  [[nodiscard]] static base::Result<StatChooser> Make(const std::vector<std::string>& patterns);

  [[nodiscard]] bool empty() const { return patterns_.empty(); }
  [[nodiscard]] bool Chooses(std::string_view name) const;

  struct Series {
    std::string name;  // "envoy_cluster_upstream_rq_active"
    std::vector<std::pair<std::string, std::string>> labels;
  };
  /// The series of a chosen stat, by the rules of Envoy's own Prometheus page: "envoy_" and the
  /// name, in which every character that a metric's name may not have is "_"; its tags as labels
  /// under names made likewise. What a named group of the pattern, such as (?P<upstream>[^.]+),
  /// matched is cut out of the name with the dot before it, and becomes a label.
  /// Source: envoyproxy/envoy:source/server/admin/prometheus_stats.cc.
  [[nodiscard]] std::optional<Series> SeriesOf(std::string_view name,
                                               std::span<const LabelView> labels) const;

 private:
  StatChooser() = default;

  std::vector<std::shared_ptr<const re2::RE2>> patterns_;
};

}  // namespace activescale::metric
