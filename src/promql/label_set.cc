#include "promql/label_set.h"

#include <algorithm>
#include <utility>

#include "series/matcher.h"

namespace activescale::promql {
namespace {

/// No UTF-8 text holds this byte, so that keys of different sets differ.
constexpr char kSeparator = '\xff';

void AppendTo(std::string& key, std::string_view label, std::string_view value) {
  key.append(label).push_back(kSeparator);
  key.append(value).push_back(kSeparator);
}

bool Contains(std::span<const std::string> labels, std::string_view label) {
  return std::ranges::find(labels, label) != labels.end();
}

}  // namespace

LabelSet::LabelSet() {
  static const auto none = std::make_shared<const metric::Labels>();
  labels_ = none;
}

LabelSet::LabelSet(std::vector<metric::Labels::Entry> entries) {
  std::erase_if(entries, [](const metric::Labels::Entry& entry) { return entry.second.empty(); });
  labels_ = std::make_shared<const metric::Labels>(std::move(entries));
}

template <typename Use>
void LabelSet::ForEach(Use use) const {
  for (const auto& [label, value] : labels_->entries()) {
    if (!(nameless_ && label == series::kNameLabel)) use(label, value);
  }
}

std::string_view LabelSet::Get(std::string_view label) const {
  if (nameless_ && label == series::kNameLabel) return "";
  return labels_->Get(label).value_or("");
}

std::string_view LabelSet::name() const { return Get(series::kNameLabel); }

LabelSet LabelSet::WithoutName() const {
  LabelSet copy = *this;
  copy.DropName();
  return copy;
}

LabelSet LabelSet::With(std::string_view label, std::string_view value) const {
  std::vector<metric::Labels::Entry> entries;
  ForEach([&](const std::string& other, const std::string& old) {
    if (other != label) entries.emplace_back(other, old);
  });
  entries.emplace_back(label, value);
  return LabelSet(std::move(entries));
}

LabelSet LabelSet::Keep(std::span<const std::string> labels) const {
  std::vector<metric::Labels::Entry> entries;
  ForEach([&](const std::string& label, const std::string& value) {
    if (Contains(labels, label)) entries.emplace_back(label, value);
  });
  return LabelSet(std::move(entries));
}

LabelSet LabelSet::Without(std::span<const std::string> labels) const {
  std::vector<metric::Labels::Entry> entries;
  ForEach([&](const std::string& label, const std::string& value) {
    if (label != series::kNameLabel && !Contains(labels, label)) entries.emplace_back(label, value);
  });
  return LabelSet(std::move(entries));
}

metric::Labels LabelSet::ToLabels() const {
  std::vector<metric::Labels::Entry> entries;
  ForEach([&](const std::string& label, const std::string& value) {
    entries.emplace_back(label, value);
  });
  return metric::Labels(std::move(entries));
}

std::string LabelSet::Key() const {
  std::string key;
  ForEach([&](const std::string& label, const std::string& value) { AppendTo(key, label, value); });
  return key;
}

std::string LabelSet::KeyOf(std::span<const std::string> labels) const {
  std::string key;
  for (const std::string& label : labels) key.append(Get(label)).push_back(kSeparator);
  return key;
}

std::string LabelSet::KeyWithout(std::span<const std::string> labels) const {
  std::string key;
  ForEach([&](const std::string& label, const std::string& value) {
    if (label != series::kNameLabel && !Contains(labels, label)) AppendTo(key, label, value);
  });
  return key;
}

}  // namespace activescale::promql
