#include "ingest/stream_session.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/duration.h"
#include "base/log.h"

namespace activescale::ingest {
namespace {

// The level of debug lines, which operators of the Go program turn on with LOG_VERBOSITY=4.
constexpr int kDebug = 4;

// Flush intervals that must fit into the TTL, so that one lost flush is no outage.
constexpr int kFlushesInTtl = 3;

// A sender's clock that is further away than this is worth a warning; nothing here depends on it.
constexpr std::chrono::milliseconds kSkewWorthAWarning = std::chrono::minutes(1);

// A stream may break off because gRPC had no memory for its message, which it buffers whole: a
// message of 300 MiB left 260 MiB with malloc.
constexpr std::chrono::seconds kTrimInterval{5};

// Between two ticks at least: of many flushes that are held back, one waits a fifth longer at most.
constexpr std::chrono::milliseconds kBusyTick{10};
// And at most: a flush that is held back meanwhile is not due before the next tick sees it.
constexpr std::chrono::milliseconds kIdleTick{40};
static_assert(kIdleTick + kBusyTick <= FlushAggregator::kQuiet);

}  // namespace

Ingest::Ingest(IngestOptions options, store::SampleStore& store, kube::EnvoyPodIndex* pods,
               const base::Clock& clock, telemetry::Registry& registry)
    : options_(std::move(options)), store_(store), pods_(pods), clock_(clock), metrics_(registry) {}

std::chrono::nanoseconds Ingest::Tick(base::SteadyTime now) {
  const auto due = queue_.Tick(now);
  metrics_.skew.Tick(now);
  if (now >= next_trim_ && stream_broke_off_.exchange(false, std::memory_order_relaxed)) {
    next_trim_ = now + kTrimInterval;
    malloc_trim(0);
  }
  return due ? std::clamp<std::chrono::nanoseconds>(*due - now, kBusyTick, kIdleTick) : kIdleTick;
}

Ingest::ClusterVerdict Ingest::JudgeCluster(const std::string& cluster_id) {
  if (cluster_id.empty()) return ClusterVerdict::kOk;
  if (!options_.cluster_id.empty()) {
    return cluster_id == options_.cluster_id ? ClusterVerdict::kOk : ClusterVerdict::kRefused;
  }
  base::MutexLock lock(cluster_mutex_);
  if (first_cluster_id_.empty()) first_cluster_id_ = cluster_id;
  return cluster_id == first_cluster_id_ ? ClusterVerdict::kOk : ClusterVerdict::kOther;
}

StreamSession::StreamSession(Ingest& ingest, std::string peer)
    : ingest_(ingest), peer_(std::move(peer)), aggregator_(ingest.options_.absent) {
  ingest_.metrics_.open_streams.Increment();
}

std::shared_ptr<StreamSession> StreamSession::Open(Ingest& ingest, std::string peer) {
  return std::shared_ptr<StreamSession>(new StreamSession(ingest, std::move(peer)));
}

base::Result<void> StreamSession::OnMessage(WireScanner& scanner, Slices message) {
  const base::SteadyTime now = ingest_.clock_.Now();
  ingest_.metrics_.messages.Increment();
  const StatTap& tap = ingest_.options_.stats;
  const bool wants_stats = tap.chooser != nullptr && tap.active();
  const ScannedMessage* scanned =
      scanner.Scan(message, base::VerbosityAtLeast(kDebug), wants_stats ? tap.chooser : nullptr);
  if (scanned == nullptr) {
    ingest_.metrics_.ended_malformed.Increment();
    return base::Fail(base::Code::kInvalidArgument,
                      "not a StreamMetricsMessage of envoy.service.metrics.v3: the bytes are "
                      "malformed");
  }
  base::MutexLock lock(mutex_);
  if (!scanned->identifiers.empty() || stream_ == nullptr) {
    if (auto identified = Identify(*scanned); !identified) return identified;
  }
  if (stream_ == nullptr) return {};
  if (presence_ != nullptr) presence_->Touch(now);
  Aggregate(*scanned, SumOf(*scanned), now);
  if (wants_stats && counts_) TakeStats(*scanned, now);
  return {};
}

base::Result<void> StreamSession::Identify(const ScannedMessage& message) {
  std::optional<Node> node = DecodeNode(message.identifiers);
  if (!node) {
    if (stream_ == nullptr) DropWithoutNode();
    return {};
  }
  base::Result<Identity> identity = IdentityOf(*std::move(node));
  if (stream_ == nullptr) {
    if (identity) {
      Adopt(*std::move(identity));
    } else {
      RefuseNode(ingest_.metrics_.id_refused, std::move(identity.error()));
    }
    return {};
  }
  if (identity && identity->pod == pod_) return {};
  ingest_.metrics_.ended_node_changed.Increment();
  return base::Fail(
      base::Code::kInvalidArgument,
      fmt::format("the node changed in mid-stream: it was pod {}/{}; open a new stream", pod_.ns,
                  pod_.name));
}

void StreamSession::Adopt(Identity identity) {
  const base::SteadyTime now = ingest_.clock_.Now();
  switch (ingest_.JudgeCluster(identity.cluster_id)) {
    case Ingest::ClusterVerdict::kOk:
      break;
    case Ingest::ClusterVerdict::kOther:
      ingest_.metrics_.other_clusters.Increment();
      if (ingest_.cluster_warning_.Pass(now)) {
        LOG_WARNING(
            "pod {}/{} pushes from cluster \"{}\", another than the first one: pods of the same "
            "name are mixed up; set --cluster-id peer={}",
            identity.pod.ns, identity.pod.name, identity.cluster_id, peer_);
      }
      break;
    case Ingest::ClusterVerdict::kRefused:
      RefuseNode(ingest_.metrics_.id_wrong_cluster,
                 {base::Code::kInvalidArgument,
                  fmt::format("CLUSTER_ID \"{}\" is not \"{}\", the one of --cluster-id",
                              identity.cluster_id, ingest_.options_.cluster_id)});
      return;
  }
  if (HasWrongPeer(identity.pod) && ingest_.options_.refuse_wrong_peers) {
    RefuseNode(ingest_.metrics_.id_wrong_peer,
               {base::Code::kPermissionDenied,
                fmt::format("the sender's address is not one of pod {}/{}, which it claims to be",
                            identity.pod.ns, identity.pod.name)});
    return;
  }
  ingest_.metrics_.ignored_labels.Increment(static_cast<double>(identity.ignored_labels));
  pod_ = std::move(identity.pod);
  refusal_.reset();
  if (ingest_.pods_ != nullptr) {
    presence_ = ingest_.pods_->Add(pod_, {.labels = std::move(identity.labels),
                                          .workload_name = std::move(identity.workload_name),
                                          .ip = std::move(identity.pod_ip)});
  }
  stream_ = ingest_.store_.Open(pod_);
  VLOG(kDebug, "stream opened pod={}/{} peer={}", pod_.ns, pod_.name, peer_);
}

/// Only a proven mismatch is one: of a pod that the watch does not show yet nothing is known, and
/// Envoy sends its node once a stream.
bool StreamSession::HasWrongPeer(const metric::PodKey& pod) {
  if (!ingest_.options_.peer_check) return false;
  const kube::PeerVerdict verdict = ingest_.options_.peer_check(pod.View(), peer_);
  ingest_.metrics_.peer_checks[static_cast<size_t>(verdict)]->Increment();
  if (verdict != kube::PeerVerdict::kMismatch) return false;
  if (ingest_.peer_warning_.Pass(ingest_.clock_.Now())) {
    LOG_WARNING(
        "a stream claims to be pod {}/{} and does not come from its address: address translation "
        "on the way, or somebody who invents telemetry; see --ingest-peer-check peer={}",
        pod.ns, pod.name, peer_);
  }
  return true;
}

void StreamSession::DropWithoutNode() {
  if (refusal_) {  // of the node that came before
    refusal_->reason->Increment();
    VLOG(kDebug, "missing pod identity peer={}: {}", peer_, refusal_->error.message);
    return;
  }
  RefuseNode(ingest_.metrics_.id_missing,
             {base::Code::kInvalidArgument,
              "the stream's first message has no node; Envoy sends one by itself"});
}

void StreamSession::RefuseNode(telemetry::Counter& reason, base::Error error) {
  reason.Increment();
  VLOG(kDebug, "missing pod identity peer={}: {}", peer_, error.message);
  if (ingest_.identity_warning_.Pass(ingest_.clock_.Now())) {
    LOG_WARNING("messages are dropped, no pod is known for their stream peer={}: {}", peer_,
                error.message);
  }
  refusal_ = Refusal{&reason, std::move(error)};
}

store::Flush StreamSession::SumOf(const ScannedMessage& message) {
  store::Flush sum;
  uint32_t dropped = message.skipped_families;
  uint32_t kept = 0;
  for (const std::string_view name : message.skipped_names) {
    VLOG(kDebug, "skipping metric name={} pod={}/{}", name, pod_.ns, pod_.name);
  }
  for (const ScannedFamily& family : message.families) {
    bool matched = family.chosen;
    for (const ScannedSample& sample : message.SamplesOf(family)) {
      const auto kind = ingest_.options_.rules.Classify(family.name, message.LabelsOf(sample));
      if (!kind) continue;
      matched = true;
      AddSample(*kind, sample, sum);
    }
    if (matched) {
      ++kept;
      continue;
    }
    ++dropped;
    VLOG(kDebug, "skipping metric name={} pod={}/{}", family.name, pod_.ns, pod_.name);
  }
  ingest_.metrics_.dropped_by_names.Increment(dropped);
  ingest_.metrics_.kept_families.Increment(kept);
  return sum;
}

void StreamSession::AddSample(metric::MetricKind kind, const ScannedSample& sample,
                              store::Flush& sum) {
  if (!sample.gauge) {
    ingest_.metrics_.value_not_gauge.Increment();
    return;
  }
  const std::optional<metric::Quantity> value = metric::Quantity::FromSample(*sample.gauge);
  if (!value) {
    ingest_.metrics_.value_out_of_range.Increment();
    VLOG(kDebug, "refused {} pod={}/{} value={}", metric::MetricName(kind), pod_.ns, pod_.name,
         *sample.gauge);
    return;
  }
  bool saturated = false;
  std::optional<metric::Quantity>& total = sum.values[static_cast<size_t>(kind)];
  total = total.value_or(metric::Quantity()).SaturatingAdd(*value, &saturated);
  if (saturated) ingest_.metrics_.saturated.Increment();
}

void StreamSession::Aggregate(const ScannedMessage& message, const store::Flush& part,
                              base::SteadyTime now) {
  bool saturated = false;
  const auto publications = aggregator_.Add(message.timestamp_ms, part, now, &saturated);
  if (saturated) ingest_.metrics_.saturated.Increment();
  if (aggregator_.began_flush()) WatchSender(message, now);
  if (aggregator_.batched() && !counted_as_batched_) {
    counted_as_batched_ = true;
    ingest_.metrics_.batched_streams.Increment();
  }
  if (publications.ended) Publish(*publications.ended);
  if (publications.current) {
    Publish(*publications.current);
    return;
  }
  // Held back, and no heartbeat either: should the stream break off now, the heartbeat would
  // outlive the last value, and the pod read as zero, which nobody said.
  if (scheduled_) return;
  scheduled_ = true;
  ingest_.queue_.Schedule(weak_from_this(), *aggregator_.due());
}

void StreamSession::Publish(const FlushAggregator::Publication& publication) {
  const bool has_values = std::ranges::any_of(publication.flush.values,
                                              [](const auto& value) { return value.has_value(); });
  const store::WriteOutcome outcome = has_values
                                          ? stream_->Write(publication.flush, publication.received)
                                          : stream_->Heartbeat(publication.received);
  counts_ = outcome == store::WriteOutcome::kStored;
  switch (outcome) {
    case store::WriteOutcome::kStored:
      break;
    case store::WriteOutcome::kSuperseded:
      ingest_.metrics_.superseded.Increment();
      return;
    case store::WriteOutcome::kDropped:
      ingest_.metrics_.store_full.Increment();
      return;
  }
  int stored = 0;
  for (size_t i = 0; i < metric::kMetricKindCount; ++i) {
    const auto& value = publication.flush.values[i];
    if (!value) continue;
    ++stored;
    VLOG(kDebug, "stored {} pod={}/{} value={}", metric::kMetricNames[i], pod_.ns, pod_.name,
         value->ToString());
  }
  ingest_.metrics_.stored_metrics.Increment(stored);
  const std::chrono::duration<double> took = ingest_.clock_.Now() - publication.received;
  ingest_.metrics_.push_to_stored.Observe(took.count());
}

void StreamSession::TakeStats(const ScannedMessage& message, base::SteadyTime now) {
  std::vector<metric::ChosenStat> stats;
  for (const ScannedFamily& family : message.families) {
    if (!family.chosen) continue;
    for (const ScannedSample& sample : message.SamplesOf(family)) {
      const auto value = sample.gauge ? sample.gauge : sample.counter;
      if (!value || !std::isfinite(*value)) {
        (value ? ingest_.metrics_.value_out_of_range : ingest_.metrics_.value_not_gauge)
            .Increment();
        continue;
      }
      stats.push_back({.name = family.name,
                       .labels = message.LabelsOf(sample),
                       .value = *value,
                       .counter = !sample.gauge});
    }
  }
  ingest_.options_.stats.take(pod_, stats, now, aggregator_.began_flush());
}

std::optional<base::SteadyTime> StreamSession::OnDue(base::SteadyTime now) {
  base::MutexLock lock(mutex_);
  scheduled_ = false;
  if (ended_) return std::nullopt;
  if (const auto publication = aggregator_.TakeDue(now)) Publish(*publication);
  const auto next = aggregator_.due();
  scheduled_ = next.has_value();
  return next;
}

std::string StreamSession::Who() {
  base::MutexLock lock(mutex_);
  if (pod_.name.empty()) return peer_;
  return fmt::format("pod {}/{} at {}", pod_.ns, pod_.name, peer_);
}

void StreamSession::WatchSender(const ScannedMessage& message, base::SteadyTime now) {
  WatchCadence(now);
  if (!message.timestamp_ms) return;
  const auto ours = std::chrono::duration_cast<std::chrono::milliseconds>(
      ingest_.clock_.WallNow().time_since_epoch());
  // Any 64-bit number may come; a difference that does not fit is as good as the largest.
  int64_t skew_ms = 0;
  if (__builtin_sub_overflow(*message.timestamp_ms, ours.count(), &skew_ms)) {
    skew_ms = *message.timestamp_ms < 0 ? -INT64_MAX : INT64_MAX;
  }
  const std::chrono::milliseconds skew(std::max(skew_ms, -INT64_MAX));
  ingest_.metrics_.skew.Observe(skew);
  if (std::chrono::abs(skew) > kSkewWorthAWarning && ingest_.skew_warning_.Pass(now)) {
    LOG_WARNING(
        "the clock of pod {}/{} is {} ms {} ours; freshness is judged by ours, so nothing is lost",
        pod_.ns, pod_.name, std::chrono::abs(skew).count(),
        skew.count() > 0 ? "ahead of" : "behind");
  }
}

// Two intervals in a row have to be long, so that one late flush is not taken for the cadence.
void StreamSession::WatchCadence(base::SteadyTime now) {
  if (last_flush_) {
    const std::chrono::nanoseconds interval = now - *last_flush_;
    if (last_interval_) {
      SetSlow(std::min(interval, *last_interval_) * kFlushesInTtl > ingest_.options_.ttl);
    }
    last_interval_ = interval;
  }
  last_flush_ = now;
}

void StreamSession::SetSlow(bool slow) {
  if (slow == slow_) return;
  slow_ = slow;
  ingest_.metrics_.slow_streams.Increment(slow ? 1 : -1);
  if (slow && ingest_.cadence_warning_.Pass(*last_flush_)) {
    LOG_WARNING(
        "pod {}/{} flushes about every {} ms, and the TTL of {} is less than {} of that: a lost "
        "flush makes it missing; lower stats_flush_interval or raise --ttl",
        pod_.ns, pod_.name,
        std::chrono::duration_cast<std::chrono::milliseconds>(*last_interval_).count(),
        base::FormatDuration(ingest_.options_.ttl), kFlushesInTtl);
  }
}

base::Result<void> StreamSession::End(bool closed_by_sender) {
  base::MutexLock lock(mutex_);
  if (ended_) return {};
  ended_ = true;
  if (stream_ != nullptr && closed_by_sender) {
    if (const auto publication = aggregator_.TakeLast()) Publish(*publication);
  }
  stream_.reset();
  presence_.reset();
  SetSlow(false);
  ingest_.metrics_.open_streams.Decrement();
  if (!closed_by_sender) ingest_.stream_broke_off_.store(true, std::memory_order_relaxed);
  if (refusal_) return std::unexpected(refusal_->error);
  return {};
}

}  // namespace activescale::ingest
