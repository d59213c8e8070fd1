#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "metric/metric_kind.h"
#include "metric/pod_key.h"
#include "redis/client.h"
#include "store/redis/record.h"
#include "store/sample_store.h"
#include "telemetry/registry.h"

namespace activescale::store {

/// The reading half of RedisStore: one round trip to each node that has one of the pods, all nodes
/// at once. Reads of the same pods that come while one is under way share its answer.
/// Threads: the loop's.
class Reader {
 public:
  struct Options {
    std::chrono::nanoseconds ttl;
    std::string context;  // prefix of the keys
  };
  /// What a node does not answer by then is missing in the result.
  static constexpr std::chrono::milliseconds kTimeout{400};

  /// The client must outlive the reader.
  Reader(Options options, redis::Client& client, const base::Clock& clock,
         telemetry::Registry& registry);

  void Read(std::vector<metric::PodKey> pods, metric::MetricKind kind, ReadCallback done);

 private:
  /// What is known of one pod, by our clock.
  struct Pod {
    std::optional<base::SteadyTime> heartbeat;
    std::array<std::optional<base::SteadyTime>, metric::kMetricKindCount> received;
    std::array<metric::Quantity, metric::kMetricKindCount> values;
  };
  struct Waiter {
    metric::MetricKind kind;
    ReadCallback done;
  };
  /// One shared reading of a list of pods.
  struct Trip {
    std::vector<metric::PodKey> asked;
    std::vector<std::string> keys;  // of the records, for each asked
    std::vector<Pod> pods;          // for each asked
    std::vector<Waiter> waiters;
    size_t commands_left = 0;
    bool any_answer = false;
    std::string failure;  // of the first command that failed; empty if none did
  };
  using Indexes = std::vector<size_t>;  // into Trip's vectors, all in one slot

  void Start(const std::shared_ptr<Trip>& trip);
  void Ask(const std::shared_ptr<Trip>& trip, uint16_t slot, Indexes indexes);
  void OnAnswer(const std::shared_ptr<Trip>& trip, uint16_t slot, const Indexes& indexes,
                base::Result<redis::Answer> answer);
  void Take(Pod& pod, std::string_view key, const redis::Reply& element,
            const redis::ServerClock& clock);
  void CountBad(BadRecord reason);
  [[nodiscard]] std::optional<base::SteadyTime> ToLocal(const redis::ServerClock& clock,
                                                        StoredTime at);
  void Finish(Trip& trip);
  [[nodiscard]] PodReading Evaluate(const Pod& pod, metric::MetricKind kind,
                                    base::SteadyTime now) const;

  const Options options_;
  redis::Client& client_;
  const base::Clock& clock_;
  telemetry::Counter& reads_;
  telemetry::Counter& shared_;
  telemetry::Counter& partial_;
  telemetry::Counter& unavailable_;
  telemetry::Counter& foreign_;
  telemetry::Counter& corrupt_;
  telemetry::Counter& unknown_version_;
  telemetry::Counter& future_;

  std::unordered_map<size_t, std::shared_ptr<Trip>> under_way_;  // by a hash of the pods
};

}  // namespace activescale::store
