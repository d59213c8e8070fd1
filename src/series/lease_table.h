#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "metric/labels.h"
#include "series/matcher.h"
#include "series/sample.h"

namespace activescale::series {

/// That a selector is recorded, since when, and how far back.
struct Lease {
  Matchers matchers;
  std::vector<std::string> terms;  // of the matchers, sorted
  int64_t window_ms = 0;
  int64_t since_ms = 0;  // everything in the window since then is recorded
  int64_t used_ms = 0;
  bool kept = false;
  int64_t asked_ms = kMinTime;  // when this process was last asked, not another replica
  int64_t told_ms = kMinTime;   // when the other replicas were last told
  int64_t told_window_ms = 0;   // and with which window
};

/// Leases by the metric they name, so that a sample is held against few of them.
/// Threads: guarded by the owner.
class LeaseTable {
 public:
  /// The lease on the same conditions, or null.
  [[nodiscard]] Lease* Find(const std::vector<std::string>& terms, const Matchers& matchers);
  Lease& Insert(Lease lease);
  /// The least recently used lease that is not kept. False if there is none.
  bool EraseOldest();
  /// How many were erased.
  template <typename Predicate>
  size_t EraseIf(Predicate predicate) {
    size_t erased = 0;
    for (auto& [name, leases] : by_name_) {
      erased += std::erase_if(leases, [&](const auto& entry) { return predicate(entry.second); });
    }
    std::erase_if(by_name_, [](const auto& entry) { return entry.second.empty(); });
    size_ -= erased;
    return erased;
  }
  template <typename Use>
  void ForEach(Use use) const {
    for (const auto& [name, leases] : by_name_) {
      for (const auto& [key, lease] : leases) use(lease);
    }
  }
  template <typename Use>
  void ForEach(Use use) {
    for (auto& [name, leases] : by_name_) {
      for (auto& [key, lease] : leases) use(lease);
    }
  }
  [[nodiscard]] bool AnyMatches(const metric::Labels& labels) const;
  [[nodiscard]] size_t size() const { return size_; }

 private:
  using ByTerms = std::unordered_map<std::string, Lease>;

  /// By the name that the conditions demand, "" where they demand none.
  std::unordered_map<std::string, ByTerms> by_name_;
  size_t size_ = 0;
};

}  // namespace activescale::series
