#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metric/labels.h"

namespace activescale::promql {

/// Labels of a series in a result. Cheap to copy, and to take the name off: most results are a
/// stored series' labels without its name, and are aggregated away before anybody reads them.
class LabelSet {
 public:
  LabelSet();
  explicit LabelSet(std::shared_ptr<const metric::Labels> labels) : labels_(std::move(labels)) {}
  /// Entries with an empty value are left out: an empty label is none.
  explicit LabelSet(std::vector<metric::Labels::Entry> entries);

  /// "" if absent. Valid while any copy of this set is.
  [[nodiscard]] std::string_view Get(std::string_view label) const;
  [[nodiscard]] std::string_view name() const;
  void DropName() { nameless_ = true; }
  [[nodiscard]] LabelSet WithoutName() const;
  [[nodiscard]] LabelSet With(std::string_view label, std::string_view value) const;
  /// Only `labels`, or all but `labels` and the name.
  [[nodiscard]] LabelSet Keep(std::span<const std::string> labels) const;
  [[nodiscard]] LabelSet Without(std::span<const std::string> labels) const;
  [[nodiscard]] metric::Labels ToLabels() const;

  /// Equal for equal sets, different for different ones.
  [[nodiscard]] std::string Key() const;
  /// The same for the subset of Keep or Without.
  [[nodiscard]] std::string KeyOf(std::span<const std::string> labels) const;
  [[nodiscard]] std::string KeyWithout(std::span<const std::string> labels) const;

 private:
  template <typename Use>
  void ForEach(Use use) const;

  std::shared_ptr<const metric::Labels> labels_;
  bool nameless_ = false;
};

}  // namespace activescale::promql
