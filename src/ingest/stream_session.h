#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/warning_gate.h"
#include "ingest/flush_aggregator.h"
#include "ingest/identity.h"
#include "ingest/ingest_metrics.h"
#include "ingest/publication_queue.h"
#include "ingest/wire_scanner.h"
#include "kube/envoy_pod_index.h"
#include "kube/peer_check.h"
#include "metric/pod_key.h"
#include "metric/stat_chooser.h"
#include "metric/stat_name.h"
#include "store/sample_store.h"
#include "telemetry/registry.h"

namespace activescale::ingest {

/// Where stats go that are no metrics of ours. Called by gRPC's threads, so it must not block.
struct StatTap {
  const metric::StatChooser* chooser = nullptr;  // null: there are none
  /// Whether anybody wants them now: else they are not even decoded.
  std::function<bool()> active = nullptr;
  /// Stats of one message of a pod's stream that counts, received at `received`; `begins_flush`
  /// tells whether it is the first of its flush.
  std::function<void(const metric::PodKey& pod, std::span<const metric::ChosenStat> stats,
                     base::SteadyTime received, bool begins_flush)>
      take = nullptr;
};

struct IngestOptions {
  metric::StatNameRules rules;
  AbsentFamily absent = AbsentFamily::kKeep;
  /// The TTL of the store, which streams' flush intervals are compared with; > 0.
  std::chrono::nanoseconds ttl = std::chrono::seconds(20);
  /// Streams with another CLUSTER_ID are refused; "": the first one seen is remembered and others
  /// raise a warning.
  std::string cluster_id;
  /// Empty: addresses of senders are not checked.
  kube::PeerCheck peer_check = nullptr;
  /// A sender that has another address than its pod is refused, and not only counted.
  bool refuse_wrong_peers = false;
  StatTap stats = {};
};

/// What all streams share. Outlives them. Threads: any.
class Ingest {
 public:
  /// `pods` may be null: in a cluster the API server says which pods there are.
  Ingest(IngestOptions options, store::SampleStore& store, kube::EnvoyPodIndex* pods,
         const base::Clock& clock, telemetry::Registry& registry);

  /// Publishes flushes that were held back long enough, and gives memory back after streams broke
  /// off. Returns how long to wait for the next call: while nothing is held back there is little to
  /// wake for. Threads: one.
  [[nodiscard]] std::chrono::nanoseconds Tick(base::SteadyTime now);

  [[nodiscard]] IngestMetrics& metrics() { return metrics_; }
  [[nodiscard]] const base::Clock& clock() const { return clock_; }

 private:
  friend class StreamSession;

  enum class ClusterVerdict : uint8_t { kOk, kOther, kRefused };
  [[nodiscard]] ClusterVerdict JudgeCluster(const std::string& cluster_id);

  const IngestOptions options_;
  store::SampleStore& store_;
  kube::EnvoyPodIndex* const pods_;
  const base::Clock& clock_;
  IngestMetrics metrics_;
  PublicationQueue queue_;

  std::atomic<bool> stream_broke_off_{false};  // since memory was last given back
  base::SteadyTime next_trim_{};               // of Tick's thread alone

  base::Mutex cluster_mutex_;
  std::string first_cluster_id_ GUARDED_BY(cluster_mutex_);

  base::WarningGate identity_warning_;
  base::WarningGate cluster_warning_;
  base::WarningGate peer_warning_;
  base::WarningGate cadence_warning_;
  base::WarningGate skew_warning_;
};

/// One StreamMetrics stream from its first byte to its end, without gRPC: messages go in, whole
/// flushes go to the store. The identity of the first message that has one holds for the stream;
/// messages without any are dropped and counted, and the stream goes on.
/// Lock order: the session's mutex, then the store's, the pod index's or the queue's.
/// Threads: any; messages in their order.
class StreamSession final : public Due, public std::enable_shared_from_this<StreamSession> {
 public:
  /// `peer` is the sender's address, for messages to people.
  [[nodiscard]] static std::shared_ptr<StreamSession> Open(Ingest& ingest, std::string peer);

  /// End must have been called.
  ~StreamSession() override = default;

  /// Takes one message. `scanner` is the calling thread's. Never blocks.
  /// Errors: kInvalidArgument if the message is malformed or names another pod than the stream's:
  /// then the stream has to be ended.
  [[nodiscard]] base::Result<void> OnMessage(WireScanner& scanner, Slices message);

  /// No more messages will come. A flush that is held back is published if the sender closed the
  /// stream, and dropped if the stream broke off, since it may be a part.
  /// Errors: kInvalidArgument if there were messages, and none had a pod.
  [[nodiscard]] base::Result<void> End(bool closed_by_sender);

  std::optional<base::SteadyTime> OnDue(base::SteadyTime now) override;

  /// The sender for messages to people: its pod, if it is known, and its address.
  [[nodiscard]] std::string Who();

 private:
  /// Why this stream's messages are dropped, and the counter of them.
  struct Refusal {
    telemetry::Counter* reason;
    base::Error error;
  };

  StreamSession(Ingest& ingest, std::string peer);

  [[nodiscard]] base::Result<void> Identify(const ScannedMessage& message) REQUIRES(mutex_);
  void Adopt(Identity identity) REQUIRES(mutex_);
  [[nodiscard]] bool HasWrongPeer(const metric::PodKey& pod) REQUIRES(mutex_);
  void DropWithoutNode() REQUIRES(mutex_);
  void RefuseNode(telemetry::Counter& reason, base::Error error) REQUIRES(mutex_);
  [[nodiscard]] store::Flush SumOf(const ScannedMessage& message) REQUIRES(mutex_);
  void AddSample(metric::MetricKind kind, const ScannedSample& sample, store::Flush& sum)
      REQUIRES(mutex_);
  void Aggregate(const ScannedMessage& message, const store::Flush& part, base::SteadyTime now)
      REQUIRES(mutex_);
  void Publish(const FlushAggregator::Publication& publication) REQUIRES(mutex_);
  void TakeStats(const ScannedMessage& message, base::SteadyTime now) REQUIRES(mutex_);
  void WatchSender(const ScannedMessage& message, base::SteadyTime now) REQUIRES(mutex_);
  void WatchCadence(base::SteadyTime now) REQUIRES(mutex_);
  void SetSlow(bool slow) REQUIRES(mutex_);

  Ingest& ingest_;
  const std::string peer_;

  base::Mutex mutex_;
  metric::PodKey pod_ GUARDED_BY(mutex_);
  std::unique_ptr<store::PodStream> stream_ GUARDED_BY(mutex_);  // null until the pod is known
  std::unique_ptr<kube::EnvoyPodIndex::Presence> presence_ GUARDED_BY(mutex_);
  std::optional<Refusal> refusal_ GUARDED_BY(mutex_);  // while the pod is not known
  FlushAggregator aggregator_ GUARDED_BY(mutex_);
  bool scheduled_ GUARDED_BY(mutex_) = false;  // in the publication queue
  bool counted_as_batched_ GUARDED_BY(mutex_) = false;
  bool counts_ GUARDED_BY(mutex_) = true;  // the store took the last flush
  bool slow_ GUARDED_BY(mutex_) = false;
  bool ended_ GUARDED_BY(mutex_) = false;

  // Of the flushes so far, by our clock.
  std::optional<base::SteadyTime> last_flush_ GUARDED_BY(mutex_);
  std::optional<std::chrono::nanoseconds> last_interval_ GUARDED_BY(mutex_);
};

}  // namespace activescale::ingest
