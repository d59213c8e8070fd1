#include "series/label_index.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

namespace activescale::series {
namespace {

/// Matches one series after the other, and remembers the answer for a value that repeats: a
/// namespace, say, which a regular expression need not see a thousand times.
class RepeatedMatch {
 public:
  explicit RepeatedMatch(const Matcher& matcher) : matcher_(&matcher) {}

  bool operator()(const metric::Labels& labels) {
    const std::string_view value = labels.Get(matcher_->label()).value_or("");
    if (!last_ || *last_ != value) {
      last_ = value;
      matches_ = matcher_->Matches(value);
    }
    return matches_;
  }

 private:
  const Matcher* matcher_;
  std::optional<std::string_view> last_;  // of a series in the index
  bool matches_ = false;
};

/// Whether the condition holds for its own text alone, as a regular expression without special
/// characters does: queries of templates have many.
bool IsOneValue(const Matcher& matcher) {
  return matcher.op() == Matcher::Op::kEqual ||
         (matcher.op() == Matcher::Op::kMatch &&
          matcher.value().find_first_of(R"(\.+*?()|[]{}^$)") == std::string::npos);
}

}  // namespace

size_t LabelIndex::HashLabels::operator()(const metric::Labels& labels) const {
  constexpr size_t kOddMultiplier = 0x9e3779b97f4a7c15;
  size_t hash = 0;
  for (const auto& [key, value] : labels.entries()) {
    hash = (hash ^ std::hash<std::string_view>()(key)) * kOddMultiplier;
    hash = (hash ^ std::hash<std::string_view>()(value)) * kOddMultiplier;
  }
  return hash;
}

size_t LabelIndex::HashLabels::operator()(const std::shared_ptr<Series>& series) const {
  return (*this)(series->labels());
}

std::shared_ptr<Series> LabelIndex::Find(const metric::Labels& labels) const {
  const auto found = by_labels_.find(labels);
  return found == by_labels_.end() ? nullptr : *found;
}

std::shared_ptr<Series> LabelIndex::Add(metric::Labels labels) {
  auto series = std::make_shared<Series>(std::move(labels));
  const Id id = next_id_++;
  const Entry& entry = by_id_.emplace(id, Entry{id, series}).first->second;
  for (const auto& [key, value] : series->labels().entries()) {
    postings_[key][value].push_back(&entry);
  }
  by_labels_.insert(series);
  ids_.emplace(series.get(), id);
  return series;
}

void LabelIndex::Remove(const Series& series) {
  const auto found = ids_.find(&series);
  if (found == ids_.end()) return;
  const Id id = found->second;
  ids_.erase(found);
  for (const auto& [key, value] : series.labels().entries()) {
    const auto label = postings_.find(key);
    const auto list = label->second.find(value);
    list->second.erase(std::ranges::lower_bound(list->second, id, {}, &Entry::id));
    if (list->second.empty()) label->second.erase(list);
    if (label->second.empty()) postings_.erase(label);
  }
  by_labels_.erase(by_labels_.find(series.labels()));
  by_id_.erase(id);  // last: may destroy the series
}

const LabelIndex::Postings* LabelIndex::Find(std::string_view label,
                                             const std::string& value) const {
  static const Postings kNone;
  const auto by_value = postings_.find(label);
  if (by_value == postings_.end()) return &kNone;
  const auto list = by_value->second.find(value);
  return list == by_value->second.end() ? &kNone : &list->second;
}

std::vector<std::shared_ptr<Series>> LabelIndex::Select(const Matchers& matchers) const {
  std::vector<const Postings*> lists;
  std::vector<RepeatedMatch> rest;
  for (const Matcher& matcher : matchers) {
    // An empty value also means series without the label: no posting list says which they are.
    if (IsOneValue(matcher) && !matcher.value().empty()) {
      lists.push_back(Find(matcher.label(), matcher.value()));
    } else {
      rest.emplace_back(matcher);
    }
  }
  std::vector<std::shared_ptr<Series>> selected;
  const auto take = [&](const Entry& entry) {
    const metric::Labels& labels = entry.series->labels();
    if (std::ranges::all_of(rest, [&](RepeatedMatch& match) { return match(labels); })) {
      selected.push_back(entry.series);
    }
  };
  if (lists.empty()) {
    for (const auto& [id, entry] : by_id_) take(entry);
    return selected;
  }
  std::ranges::sort(lists, {}, [](const Postings* list) { return list->size(); });
  Postings entries = *lists.front();
  for (const Postings* list : std::span(lists).subspan(1)) {
    Postings common;
    std::ranges::set_intersection(entries, *list, std::back_inserter(common), {}, &Entry::id,
                                  &Entry::id);
    entries = std::move(common);
  }
  selected.reserve(entries.size());
  for (const Entry* entry : entries) take(*entry);
  return selected;
}

std::vector<std::shared_ptr<Series>> LabelIndex::All() const {
  std::vector<std::shared_ptr<Series>> all;
  all.reserve(by_id_.size());
  for (const auto& [id, entry] : by_id_) all.push_back(entry.series);
  return all;
}

}  // namespace activescale::series
