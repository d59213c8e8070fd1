#include "series/label_index.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <span>
#include <utility>

namespace activescale::series {

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
  for (const auto& [key, value] : series->labels().entries()) postings_[key][value].push_back(id);
  by_id_.emplace(id, series);
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
    list->second.erase(std::ranges::lower_bound(list->second, id));
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
  std::vector<const Matcher*> rest;
  for (const Matcher& matcher : matchers) {
    // An empty value also means series without the label: no posting list says which they are.
    if (matcher.op() == Matcher::Op::kEqual && !matcher.value().empty()) {
      lists.push_back(Find(matcher.label(), matcher.value()));
    } else {
      rest.push_back(&matcher);
    }
  }
  const auto wanted = [&](const Series& series) {
    return std::ranges::all_of(
        rest, [&](const Matcher* matcher) { return matcher->MatchesLabels(series.labels()); });
  };
  std::vector<std::shared_ptr<Series>> selected;
  if (lists.empty()) {
    for (const auto& [id, series] : by_id_) {
      if (wanted(*series)) selected.push_back(series);
    }
    return selected;
  }
  std::ranges::sort(lists, {}, [](const Postings* list) { return list->size(); });
  Postings ids = *lists.front();
  for (const Postings* list : std::span(lists).subspan(1)) {
    Postings common;
    std::ranges::set_intersection(ids, *list, std::back_inserter(common));
    ids = std::move(common);
  }
  selected.reserve(ids.size());
  for (const Id id : ids) {
    const std::shared_ptr<Series>& series = by_id_.find(id)->second;
    if (wanted(*series)) selected.push_back(series);
  }
  return selected;
}

std::vector<std::shared_ptr<Series>> LabelIndex::All() const {
  std::vector<std::shared_ptr<Series>> all;
  all.reserve(by_id_.size());
  for (const auto& [id, series] : by_id_) all.push_back(series);
  return all;
}

}  // namespace activescale::series
