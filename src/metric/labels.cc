#include "metric/labels.h"

#include <algorithm>
#include <utility>

namespace activescale::metric {

Labels::Labels(std::vector<Entry> entries) {
  std::ranges::stable_sort(entries, {}, &Entry::first);
  for (Entry& entry : entries) {
    if (!entries_.empty() && entries_.back().first == entry.first) {
      entries_.back() = std::move(entry);
    } else {
      entries_.push_back(std::move(entry));
    }
  }
}

std::optional<std::string_view> Labels::Get(std::string_view key) const {
  const auto at = std::ranges::lower_bound(
      entries_, key, {}, [](const Entry& entry) { return std::string_view(entry.first); });
  if (at == entries_.end() || at->first != key) return std::nullopt;
  return at->second;
}

}  // namespace activescale::metric
