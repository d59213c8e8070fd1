#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "metric/metric_kind.h"
#include "metric/pod_key.h"
#include "metric/quantity.h"

namespace activescale::store {

/// The whole of one flush of one Envoy: the sum per metric; nothing where the flush had none.
struct Flush {
  std::array<std::optional<metric::Quantity>, metric::kMetricKindCount> values;
};

enum class WriteOutcome : uint8_t {
  kStored,      // taken (a shared store may still lose it; it counts that itself)
  kSuperseded,  // a newer open stream of this pod counts; nothing changed
  kDropped,     // a bound was hit; the store counted the reason
};

/// One open stream's right to write one pod. Of several for a pod, the one opened last counts; when
/// it is destroyed (a clean close), an older one that still writes takes over, the newest of them
/// first. Threads: one at a time.
class PodStream {
 public:
  /// Gives the ownership up; the values stay until their TTL.
  virtual ~PodStream() = default;

  /// Stores a whole flush received at `received`; also a heartbeat. Never blocks.
  virtual WriteOutcome Write(const Flush& flush, base::SteadyTime received) = 0;

  /// A whole flush without any of our metrics was received at `received`. Never blocks.
  virtual WriteOutcome Heartbeat(base::SteadyTime received) = 0;
};

/// What is known of one pod's metric now.
struct PodReading {
  enum class State : uint8_t {
    kMissing,          // no fresh heartbeat: collection is not healthy, not zero
    kValue,            // a sample younger than the TTL
    kSynthesizedZero,  // a fresh heartbeat and no fresh sample
  };
  State state = State::kMissing;
  metric::Quantity value;     // 0 unless kValue
  base::SteadyTime received;  // of the sample, or of the heartbeat for kSynthesizedZero
};

struct ReadResult {
  std::vector<PodReading> readings;  // one for each pod asked, in that order
  bool partial = false;              // a part of the store did not answer; its pods are kMissing
};

using ReadCallback = std::move_only_function<void(base::Result<ReadResult>)>;

/// As ReadResult, of every metric.
struct ReadAllResult {
  using Readings = std::array<PodReading, metric::kMetricKindCount>;
  std::vector<Readings> readings;
  bool partial = false;
};

using ReadAllCallback = std::move_only_function<void(base::Result<ReadAllResult>)>;

/// Keeps, per pod, a heartbeat and the newest value of each metric, each with its own age.
/// A value older than the TTL is never served; freshness is by our receive time.
/// Threads: any.
class SampleStore {
 public:
  virtual ~SampleStore() = default;

  /// Claims `pod` for a new stream, which becomes the one that counts. Never blocks and never
  /// fails: a store that cannot be reached now claims when it can.
  [[nodiscard]] virtual std::unique_ptr<PodStream> Open(metric::PodKey pod) = 0;

  /// Reads one metric of many pods. `done` runs exactly once, on the caller's thread or one of the
  /// store's, within the store's deadline. Errors: kUnavailable if the whole store is away.
  virtual void Read(std::vector<metric::PodKey> pods, metric::MetricKind kind,
                    ReadCallback done) = 0;

  /// The same of every metric at once: here by a Read of each. Errors: as Read, of any of them.
  virtual void ReadAll(const std::vector<metric::PodKey>& pods, ReadAllCallback done);
};

}  // namespace activescale::store
