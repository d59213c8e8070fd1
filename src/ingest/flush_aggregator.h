#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "metric/metric_kind.h"
#include "store/sample_store.h"

namespace activescale::ingest {

/// What a metric means that was in an earlier flush of a stream and is not in this one.
enum class AbsentFamily : uint8_t {
  kKeep,  // the last value, until its own TTL
  kZero,  // 0
};

/// Puts the messages of one stream together into whole flushes, so that no reader ever sees a part
/// of one. The messages of a flush have one timestamp; a message without one is a flush.
///
/// A stream is unknown at first: whether its Envoy splits flushes (`batch_size`) shows only with
/// time. Until three flushes came in one message each, a flush is held back for kQuiet after its
/// last message; from then on it is published at once. A second message of one flush makes the
/// stream batched for good: each flush is held back until the next one begins or kQuiet has passed.
///
/// No I/O, no clock. Threads: one at a time.
class FlushAggregator {
 public:
  /// After this much silence a flush counts as whole. Envoy sends the messages of one flush within
  /// a millisecond.
  static constexpr std::chrono::milliseconds kQuiet{50};
  static constexpr int kSingleMessageFlushes = 3;

  struct Publication {
    store::Flush flush;
    base::SteadyTime received;  // when its last message came
  };
  /// What one message publishes, in this order: the flush that it ended, and itself.
  struct Publications {
    std::optional<Publication> ended;
    std::optional<Publication> current;
  };

  explicit FlushAggregator(AbsentFamily absent) : absent_(absent) {}

  /// Adds a message that came at `now`. `*saturated` is set if a sum did not fit.
  [[nodiscard]] Publications Add(std::optional<int64_t> timestamp_ms, const store::Flush& part,
                                 base::SteadyTime now, bool* saturated = nullptr);

  /// The flush that has been held back until now, if its time is over.
  [[nodiscard]] std::optional<Publication> TakeDue(base::SteadyTime now);
  /// The flush that is held back: no more messages will come.
  [[nodiscard]] std::optional<Publication> TakeLast();

  /// When TakeDue has to be called; nothing if no flush is held back.
  [[nodiscard]] std::optional<base::SteadyTime> due() const;
  /// Whether the last message began a flush.
  [[nodiscard]] bool began_flush() const { return messages_ == 1; }
  [[nodiscard]] bool batched() const { return mode_ == Mode::kBatched; }

 private:
  enum class Mode : uint8_t { kUnknown, kUnbatched, kBatched };

  [[nodiscard]] Publication Publish();

  const AbsentFamily absent_;
  Mode mode_ = Mode::kUnknown;
  int single_message_flushes_ = 0;
  std::array<bool, metric::kMetricKindCount> seen_{};  // metrics of any flush published before

  // The flush that the last message belongs to.
  std::optional<int64_t> timestamp_ms_;
  store::Flush flush_;
  base::SteadyTime received_;
  int messages_ = 0;
  bool held_back_ = false;  // has what is not published yet
};

}  // namespace activescale::ingest
