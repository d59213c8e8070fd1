#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace activescale::metric {

/// Labels of a pod or a series: few, sorted by key, each key once. A value type.
class Labels {
 public:
  using Entry = std::pair<std::string, std::string>;

  Labels() = default;
  /// Sorts `entries`; of a repeated key the last value wins, as in a JSON object.
  explicit Labels(std::vector<Entry> entries);

  /// The value of `key`, valid while this object is; nothing if absent (not the same as "").
  [[nodiscard]] std::optional<std::string_view> Get(std::string_view key) const;
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] bool empty() const { return entries_.empty(); }

  friend bool operator==(const Labels&, const Labels&) = default;

 private:
  std::vector<Entry> entries_;
};

}  // namespace activescale::metric
