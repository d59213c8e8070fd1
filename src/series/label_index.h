#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "metric/labels.h"
#include "series/matcher.h"
#include "series/series.h"

namespace activescale::series {

/// Series by their labels, with posting lists (label value -> series) for selectors.
/// Threads: guarded by the owner.
class LabelIndex {
 public:
  [[nodiscard]] std::shared_ptr<Series> Find(const metric::Labels& labels) const;
  /// `labels` must not be there yet.
  std::shared_ptr<Series> Add(metric::Labels labels);
  void Remove(const Series& series);

  /// In the order in which they were added.
  [[nodiscard]] std::vector<std::shared_ptr<Series>> Select(const Matchers& matchers) const;
  [[nodiscard]] std::vector<std::shared_ptr<Series>> All() const;
  [[nodiscard]] size_t size() const { return by_id_.size(); }

 private:
  using Id = uint64_t;
  struct Entry {
    Id id;
    std::shared_ptr<Series> series;
  };
  /// Ascending by id: ids grow with time. Entries are those of by_id_.
  using Postings = std::vector<const Entry*>;

  struct HashLabels {
    using is_transparent = void;
    size_t operator()(const metric::Labels& labels) const;
    size_t operator()(const std::shared_ptr<Series>& series) const;
  };
  struct EqualLabels {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return Of(a) == Of(b);
    }
    // Compared within the full expression that made the argument.
    // NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter)
    static const metric::Labels& Of(const metric::Labels& labels) { return labels; }
    static const metric::Labels& Of(const std::shared_ptr<Series>& series) {
      return series->labels();
    }
  };

  [[nodiscard]] const Postings* Find(std::string_view label, const std::string& value) const;

  std::map<Id, Entry> by_id_;
  std::unordered_set<std::shared_ptr<Series>, HashLabels, EqualLabels> by_labels_;
  std::unordered_map<const Series*, Id> ids_;
  std::map<std::string, std::unordered_map<std::string, Postings>, std::less<>> postings_;
  Id next_id_ = 1;
};

}  // namespace activescale::series
