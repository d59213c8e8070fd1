#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "insight/fleet.h"

namespace activescale::insight {

/// The last 15 minutes of every workload that was heard in them: one point in five seconds of each
/// metric and of the number of pods, in a ring. Bounded by kMaxWorkloads, at 3 KB each.
/// Threads: one at a time.
class LoadHistory {
 public:
  static constexpr std::chrono::seconds kStep{5};
  static constexpr size_t kPoints = 180;
  static constexpr size_t kMaxWorkloads = 10'000;

  /// Adds a point if a step has passed since the last one; steps without one stay empty.
  void Add(const Fleet& fleet, base::SteadyTime now);

  /// Of which workload what is asked for.
  struct Name {
    std::string ns;
    std::string name;
  };
  /// One JSON object: "at" of the last point in milliseconds since 1970, "step" in seconds, and
  /// "workloads", each with "values" of one metric or, without `metric`, of each, and then with
  /// "pods"; oldest first, null where nothing is known. A workload that is not known has no points.
  [[nodiscard]] std::string Json(const std::vector<Name>& names,
                                 std::optional<size_t> metric) const;

  /// Whether it was heard in the last 15 minutes.
  [[nodiscard]] bool Knows(std::string_view ns, std::string_view name) const {
    return rings_.contains(std::pair(ns, name));
  }
  [[nodiscard]] size_t size() const { return rings_.size(); }

 private:
  /// The metrics, then the pods.
  static constexpr size_t kSeries = metric::kMetricKindCount + 1;
  struct Ring {
    std::array<std::array<float, kPoints>, kSeries> points;  // NaN: not known
    uint64_t last_heard = 0;                                 // the step
  };
  using Key = std::pair<std::string, std::string>;
  struct Less {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return std::pair<std::string_view, std::string_view>(a.first, a.second) <
             std::pair<std::string_view, std::string_view>(b.first, b.second);
    }
  };

  void SkipTo(uint64_t step);
  void AppendPoints(const Ring* ring, size_t series, std::string& out) const;

  std::map<Key, std::unique_ptr<Ring>, Less> rings_;
  std::optional<base::SteadyTime> begun_;
  uint64_t step_ = 0;  // of the newest point
  base::WallTime at_;
};

}  // namespace activescale::insight
