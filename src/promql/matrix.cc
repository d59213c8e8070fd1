#include "promql/matrix.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace activescale::promql {

bool HasSameLabels(const Matrix& matrix) {
  if (matrix.size() < 2) return false;
  std::unordered_set<std::string> keys;
  return std::ranges::any_of(
      matrix, [&](const SeriesValues& series) { return !keys.insert(series.labels.Key()).second; });
}

bool MergeSameLabels(Matrix& matrix) {
  if (matrix.size() < 2) return true;
  std::unordered_map<std::string, size_t> first;
  size_t kept = 0;
  for (size_t i = 0; i < matrix.size(); ++i) {
    const auto [at, fresh] = first.try_emplace(matrix[i].labels.Key(), kept);
    if (fresh) {
      if (kept != i) matrix[kept] = std::move(matrix[i]);
      ++kept;
      continue;
    }
    std::vector<series::Sample>& into = matrix[at->second].points;
    into.insert(into.end(), matrix[i].points.begin(), matrix[i].points.end());
    std::ranges::sort(into, {}, &series::Sample::time_ms);
    const auto twice = std::ranges::adjacent_find(into, {}, &series::Sample::time_ms);
    if (twice != into.end()) return false;
  }
  matrix.resize(kept);
  return true;
}

bool DropNames(Matrix& matrix) {
  bool several = false;
  if (matrix.empty()) return false;
  const LabelSet last = matrix.back().labels;
  const std::string_view name = last.name();
  for (SeriesValues& series : matrix) {
    several = several || series.labels.name() != name;
    series.labels.DropName();
  }
  return several;
}

size_t MatrixBuilder::SeriesOf(const LabelSet& labels) {
  const auto [at, fresh] = by_key_.try_emplace(labels.Key(), matrix_.size());
  if (fresh) matrix_.push_back({labels, {}});
  return at->second;
}

bool MatrixBuilder::Add(size_t series, int64_t time_ms, double value) {
  std::vector<series::Sample>& points = matrix_[series].points;
  if (!points.empty() && points.back().time_ms == time_ms) return false;
  points.push_back({time_ms, value});
  return true;
}

Matrix MatrixBuilder::Take() {
  std::erase_if(matrix_, [](const SeriesValues& series) { return series.points.empty(); });
  return std::move(matrix_);
}

}  // namespace activescale::promql
