#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/wire_cursor.h"
#include "metric/stat_chooser.h"
#include "metric/stat_name.h"

namespace activescale::ingest {

/// One metric of a family. Both are nothing if the metric is neither.
struct ScannedSample {
  uint32_t first_label = 0;
  uint32_t label_count = 0;
  std::optional<double> gauge;
  std::optional<double> counter;
};

/// A family whose name may be a metric of ours, or was chosen.
struct ScannedFamily {
  std::string_view name;
  bool chosen = false;
  uint32_t first_sample = 0;
  uint32_t sample_count = 0;
};

/// What a StreamMetricsMessage says that matters here. Views point into the message's slices or
/// into the scanner: they live until the next Scan.
struct ScannedMessage {
  /// The identifiers of the message, to be merged in this order; empty in all but the first message
  /// of a stream.
  std::vector<WireCursor> identifiers;
  /// The first timestamp of any metric, also of a family that does not matter; never 0.
  std::optional<int64_t> timestamp_ms;
  std::vector<ScannedFamily> families;
  std::vector<ScannedSample> samples;
  std::vector<metric::LabelView> labels;
  /// Families whose names cannot matter, and their names if they were asked for.
  uint32_t skipped_families = 0;
  std::vector<std::string_view> skipped_names;

  [[nodiscard]] std::span<const ScannedSample> SamplesOf(const ScannedFamily& family) const {
    return std::span(samples).subspan(family.first_sample, family.sample_count);
  }
  [[nodiscard]] std::span<const metric::LabelView> LabelsOf(const ScannedSample& sample) const {
    return std::span(labels).subspan(sample.first_label, sample.label_count);
  }
};

/// Finds in an envoy.service.metrics.v3.StreamMetricsMessage what matters, without decoding the
/// rest: a family that cannot matter costs a look at its name, its type and its metrics' lengths.
/// What protobuf accepts gives what protobuf gives; what is refused, protobuf refuses, too. Only a
/// fault inside a family that is passed over may stay unseen.
/// Keeps its buffers, so that it allocates nothing once it has seen messages of a kind.
/// Threads: one at a time; the result belongs to that thread.
class WireScanner {
 public:
  /// Null if the message is malformed. `want_skipped_names` is for debug logs. `chooser` may be
  /// null: no family matters but those that may be metrics of ours.
  [[nodiscard]] const ScannedMessage* Scan(Slices slices, bool want_skipped_names = false,
                                           const metric::StatChooser* chooser = nullptr);

 private:
  void Reset();
  void PassPlainFamilies(WireCursor& message);
  [[nodiscard]] bool ScanFamily(WireCursor family);
  [[nodiscard]] bool DecodeSamples(WireCursor family);
  [[nodiscard]] bool DecodeMetric(WireCursor metric);
  [[nodiscard]] static bool DecodeValue(WireCursor bytes, std::optional<double>* value);
  [[nodiscard]] bool DecodeLabel(WireCursor label);
  [[nodiscard]] bool FindTimestamp(WireCursor metric);
  /// The bytes as one piece: in place where they lie in one slice, else copied.
  [[nodiscard]] std::string_view Flatten(WireCursor bytes);

  ScannedMessage message_;
  bool want_skipped_names_ = false;
  const metric::StatChooser* chooser_ = nullptr;
  std::deque<std::string> copies_;  // of strings that lie across slices; never moved
  size_t copies_used_ = 0;
};

}  // namespace activescale::ingest
