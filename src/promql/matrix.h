#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "promql/label_set.h"
#include "series/sample.h"

namespace activescale::promql {

/// The values of one series at the steps of an evaluation, in order of time; steps without a value
/// are absent.
struct SeriesValues {
  LabelSet labels;
  std::vector<series::Sample> points;
};

using Matrix = std::vector<SeriesValues>;

/// The message for results of which two have the same labels.
inline constexpr char kSameLabels[] = "vector cannot contain metrics with the same labelset";

/// Whether two series have the same labels.
[[nodiscard]] bool HasSameLabels(const Matrix& matrix);

/// Makes one series of those that have the same labels. False if two of them have a value at the
/// same time.
[[nodiscard]] bool MergeSameLabels(Matrix& matrix);

/// Takes off all names. Returns whether that may have made labels equal.
bool DropNames(Matrix& matrix);

/// Collects values step by step into series told apart by their labels.
class MatrixBuilder {
 public:
  /// The number of the series with these labels, for Add.
  size_t SeriesOf(const LabelSet& labels);
  /// False if the series has a value of this time already.
  [[nodiscard]] bool Add(size_t series, int64_t time_ms, double value);
  /// Series in the order of their first value.
  [[nodiscard]] Matrix Take();

 private:
  std::unordered_map<std::string, size_t> by_key_;
  Matrix matrix_;
};

/// Numbers texts from 0 in the order of their first appearance.
class Numbering {
 public:
  size_t Of(std::string key) {
    return by_key_.try_emplace(std::move(key), by_key_.size()).first->second;
  }
  [[nodiscard]] size_t size() const { return by_key_.size(); }

 private:
  std::unordered_map<std::string, size_t> by_key_;
};

/// Walks a matrix step by step.
class StepCursor {
 public:
  explicit StepCursor(const Matrix& matrix) : matrix_(matrix), at_(matrix.size(), 0) {}

  /// Series `i`'s value at `time_ms`, or null. Times must not go back between calls for a series.
  [[nodiscard]] const double* At(size_t i, int64_t time_ms) {
    const auto& points = matrix_[i].points;
    size_t& at = at_[i];
    while (at < points.size() && points[at].time_ms < time_ms) ++at;
    return at < points.size() && points[at].time_ms == time_ms ? &points[at].value : nullptr;
  }

 private:
  const Matrix& matrix_;
  std::vector<size_t> at_;
};

}  // namespace activescale::promql
