#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "metric/pod_key.h"
#include "redis/client.h"
#include "store/redis/reader.h"
#include "store/redis/redis_log.h"
#include "store/redis/replica_board.h"
#include "store/redis/writer.h"
#include "store/sample_store.h"
#include "telemetry/health.h"
#include "telemetry/registry.h"

namespace activescale::store {

struct RedisStoreOptions {
  /// Age at which a heartbeat or a sample stops counting; > 0, the same on all replicas.
  std::chrono::nanoseconds ttl = std::chrono::seconds(20);
  /// Prefix of all keys; without { and }, the same on all replicas.
  std::string context = "activescale";
  /// Streams known at once; one more is dropped and counted. Bounds memory: about 500 bytes each.
  size_t max_streams = 200'000;
};

/// The store of several replicas: a Redis or Valkey that all of them write and read, so that each
/// gives the same answer. Writes are coalesced per stream and batched; reads always ask Redis, also
/// for pods whose streams end here, because only Redis knows whether a stream of another replica
/// has taken the pod over. Read answers on the loop's thread, within 500 ms. The client's loop must
/// be stopped, and PodStreams destroyed, before the store is. Threads: any.
class RedisStore final : public SampleStore {
 public:
  /// `seed` names this replica's streams: random, another one on each replica.
  RedisStore(const RedisStoreOptions& options, std::unique_ptr<redis::Client> client,
             const base::Clock& clock, telemetry::Registry& registry, uint64_t seed);
  ~RedisStore() override;

  /// Has the replicas tell each other how many streams each holds, for people to see. Call before
  /// Start; `streams` must be callable on the loop for as long as it runs.
  void ShareStreams(const std::string& replica, std::function<uint64_t()> streams);
  /// What the others told; nothing without ShareStreams.
  [[nodiscard]] std::vector<ReplicaBoard::Entry> OtherReplicas() const;

  /// Starts the client. Call once.
  void Start();

  [[nodiscard]] std::unique_ptr<PodStream> Open(metric::PodKey pod) override;
  void Read(std::vector<metric::PodKey> pods, metric::MetricKind kind, ReadCallback done) override;

  /// The readiness check: the state of the connections and whether writes are taken, from before
  /// the nudge that it gives to what is not ready. Ok while at least one master answers; the reason
  /// names those that do not.
  [[nodiscard]] telemetry::CheckResult Check();

  /// Streams whose newest state is not yet in Redis: 0 when all is written, before an exit.
  [[nodiscard]] size_t pending_writes() const { return writer_.pending(); }

  /// What the replicas tell each other.
  [[nodiscard]] SharedLog& log() { return log_; }

 private:
  class Stream;

  std::unique_ptr<redis::Client> client_;
  telemetry::Gauge& pending_;
  const base::Clock& clock_;
  const std::string context_;
  Writer writer_;
  Reader reader_;
  RedisLog log_;
  std::unique_ptr<ReplicaBoard> board_;  // null: nobody asked for it
};

}  // namespace activescale::store
