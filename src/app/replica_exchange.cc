#include "app/replica_exchange.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "activescale/exchange/v1/entry.pb.h"
#include "base/log.h"
#include "base/unix_time.h"
#include "metric/pod_key.h"
#include "metric/stat_chooser.h"

namespace activescale::app {
namespace {

using exchange::v1::Entry;
using series::Matcher;

constexpr std::chrono::milliseconds kSelectorInterval{200};
constexpr std::chrono::seconds kTriggerInterval{60};
/// Above this an entry is told at once.
constexpr size_t kManyBytes = size_t{256} << 10;
/// Clocks that differ by less are taken for the same: it may be the time on the way.
constexpr int64_t kSameClockMs = 1000;
/// Senders whose clock is known at once: more than there are replicas, restarted ones included.
constexpr size_t kMaxSenders = 256;

constexpr std::pair<Matcher::Op, const char*> kOps[] = {{Matcher::Op::kEqual, "="},
                                                        {Matcher::Op::kNotEqual, "!="},
                                                        {Matcher::Op::kMatch, "=~"},
                                                        {Matcher::Op::kNotMatch, "!~"}};

std::string OpText(Matcher::Op op) {
  return std::ranges::find(kOps, op, &std::pair<Matcher::Op, const char*>::first)->second;
}

/// Nothing if there is a condition that this version cannot hold.
std::optional<series::Matchers> ReadMatchers(const exchange::v1::Selector& selector) {
  series::Matchers matchers;
  for (const exchange::v1::Matcher& wire : selector.matchers()) {
    const auto* const op = std::ranges::find_if(
        kOps, [&](const auto& candidate) { return candidate.second == wire.op(); });
    if (op == std::end(kOps)) return std::nullopt;
    auto matcher = Matcher::Make(op->first, wire.label(), wire.value());
    if (!matcher) return std::nullopt;
    matchers.push_back(*std::move(matcher));
  }
  return matchers;
}

}  // namespace

/// Stands for a stream that KEDA has opened at another replica.
class ReplicaExchange::RemoteStream final : public keda::ActivityListener {
 public:
  explicit RemoteStream(ReplicaExchange& exchange) : exchange_(exchange) {}
  void OnActivity(bool active) override {
    if (!active) return;
    Entry entry;
    entry.set_woke(true);
    exchange_.Tell(std::move(entry));
  }

 private:
  ReplicaExchange& exchange_;
};

ReplicaExchange::ReplicaExchange(const Parts& parts, store::SharedLog& log,
                                 telemetry::Registry& registry)
    : parts_(parts),
      log_(log),
      malformed_(registry.AddCounter("activescale_exchange_refused_total",
                                     "Entries of other replicas that were refused, by reason.",
                                     {{"reason", "malformed"}})),
      unusable_(registry.AddCounter("activescale_exchange_refused_total",
                                    "Entries of other replicas that were refused, by reason.",
                                    {{"reason", "unusable"}})) {}

ReplicaExchange::~ReplicaExchange() = default;

void ReplicaExchange::Tell(Entry entry) {
  entry.set_sent_ms(base::UnixMsNow(parts_.clock));
  entry.set_sender(parts_.seed);
  // A full log counts what it drops.
  static_cast<void>(log_.Append(entry.SerializeAsString()));
}

void ReplicaExchange::TellWritten(std::string message) {
  Entry entry;
  entry.set_written(std::move(message));
  Tell(std::move(entry));
}

void ReplicaExchange::TellStats(const signal::StatFeed::Message& message) {
  exchange::v1::Stats wire;
  wire.set_namespace_(message.pod.ns);
  wire.set_pod(message.pod.name);
  wire.set_time_ms(message.time_ms);
  wire.set_begins_flush(message.begins_flush);
  for (const metric::ChosenStat& stat : message.stats) {
    exchange::v1::Stat& to = *wire.add_stats();
    to.set_name(std::string(stat.name));
    for (const metric::LabelView& label : stat.labels) {
      to.add_labels(std::string(label.name));
      to.add_labels(std::string(label.value));
    }
    to.set_value(stat.value);
    to.set_counter(stat.counter);
  }
  std::unique_ptr<Entry> full;
  {
    const base::MutexLock lock(mutex_);
    if (stats_ == nullptr) stats_ = std::make_unique<Entry>();
    stats_bytes_ += wire.ByteSizeLong();
    *stats_->add_stats() = std::move(wire);
    if (stats_bytes_ < kManyBytes) return;
    full = std::move(stats_);
    stats_bytes_ = 0;
  }
  Tell(std::move(*full));
}

void ReplicaExchange::Tick() {
  std::unique_ptr<Entry> stats;
  {
    const base::MutexLock lock(mutex_);
    stats = std::move(stats_);
    stats_bytes_ = 0;
  }
  if (stats != nullptr) Tell(std::move(*stats));
  const base::SteadyTime now = parts_.clock.Now();
  if (now >= next_selectors_) {
    next_selectors_ = now + kSelectorInterval;
    TellSelectors();
  }
  if (now >= next_triggers_ || parts_.activity.version() != told_triggers_) {
    next_triggers_ = now + kTriggerInterval;
    TellTriggers();
    ForgetTriggers();
  }
}

void ReplicaExchange::TellSelectors() {
  Entry entry;
  for (const series::SeriesStore::Asked& asked : parts_.series.TakeAsked()) {
    exchange::v1::Selector& selector = *entry.add_selectors();
    selector.set_window_ms(asked.window.count());
    for (const Matcher& matcher : asked.matchers) {
      exchange::v1::Matcher& to = *selector.add_matchers();
      to.set_op(OpText(matcher.op()));
      to.set_label(matcher.label());
      to.set_value(matcher.value());
    }
  }
  if (entry.selectors_size() > 0) Tell(std::move(entry));
}

void ReplicaExchange::TellTriggers() {
  told_triggers_ = parts_.activity.version();
  Entry entry;
  for (keda::ScaledObject& object : parts_.activity.Objects()) {
    exchange::v1::Trigger& trigger = *entry.add_triggers();
    trigger.set_namespace_(std::move(object.ns));
    trigger.set_name(std::move(object.name));
    trigger.mutable_metadata()->insert(object.metadata.begin(), object.metadata.end());
  }
  if (entry.triggers_size() > 0) Tell(std::move(entry));
}

void ReplicaExchange::Refuse(telemetry::Counter& reason, std::string_view what) {
  reason.Increment();
  if (!warning_.Pass(parts_.clock.Now())) return;
  LOG_WARNING("what another replica told was refused: {}; are all replicas of one version?", what);
}

/// How much later our clock is than the sender's. The time that an entry took comes on top, so the
/// least that was seen is the nearest.
int64_t ReplicaExchange::ShiftOf(const Entry& entry, base::SteadyTime written) {
  const int64_t seen = base::UnixMsAt(parts_.clock, written) - entry.sent_ms();
  const base::MutexLock lock(mutex_);
  if (clock_ahead_ms_.size() >= kMaxSenders) clock_ahead_ms_.clear();
  const auto [at, fresh] = clock_ahead_ms_.emplace(entry.sender(), seen);
  at->second = std::min(at->second, seen);
  return std::abs(at->second) < kSameClockMs ? 0 : at->second;
}

void ReplicaExchange::Take(std::string_view text, base::SteadyTime written) {
  Entry entry;
  if (!entry.ParseFromArray(text.data(), static_cast<int>(text.size()))) {
    return Refuse(malformed_, "it cannot be read");
  }
  const int64_t shift_ms = ShiftOf(entry, written);
  TakeSelectors(entry);
  for (const exchange::v1::Stats& stats : entry.stats()) TakeStats(stats, shift_ms);
  if (!entry.written().empty() && take_written_) take_written_(entry.written());
  if (entry.triggers_size() > 0) TakeTriggers(entry);
  if (entry.woke()) woken_.store(true, std::memory_order_relaxed);
  if (entry.stats_size() > 0 || !entry.written().empty()) parts_.activity.Wake();
}

void ReplicaExchange::TakeSelectors(const Entry& entry) {
  for (const exchange::v1::Selector& selector : entry.selectors()) {
    auto matchers = ReadMatchers(selector);
    if (!matchers || selector.window_ms() < 0) {
      Refuse(unusable_, "a selector");
      continue;
    }
    parts_.series.Record({*std::move(matchers), std::chrono::milliseconds(selector.window_ms())});
  }
}

void ReplicaExchange::TakeStats(const exchange::v1::Stats& stats, int64_t shift_ms) {
  if (parts_.stats == nullptr || !parts_.stats->Active()) return;
  std::vector<std::vector<metric::LabelView>> labels(static_cast<size_t>(stats.stats_size()));
  std::vector<metric::ChosenStat> chosen;
  for (int i = 0; i < stats.stats_size(); ++i) {
    const exchange::v1::Stat& stat = stats.stats(i);
    std::vector<metric::LabelView>& views = labels[static_cast<size_t>(i)];
    for (int label = 0; label + 1 < stat.labels_size(); label += 2) {
      views.push_back({stat.labels(label), stat.labels(label + 1)});
    }
    chosen.push_back(
        {.name = stat.name(), .labels = views, .value = stat.value(), .counter = stat.counter()});
  }
  const metric::PodKey pod{stats.namespace_(), stats.pod()};
  parts_.stats->TakeFromReplica({.pod = pod,
                                 .stats = chosen,
                                 .time_ms = stats.time_ms() + shift_ms,
                                 .begins_flush = stats.begins_flush()});
}

void ReplicaExchange::TakeTriggers(const Entry& entry) {
  const base::SteadyTime now = parts_.clock.Now();
  for (const exchange::v1::Trigger& wire : entry.triggers()) {
    keda::ScaledObject object{
        wire.namespace_(), wire.name(), {wire.metadata().begin(), wire.metadata().end()}};
    {
      const base::MutexLock lock(mutex_);
      if (const auto known = triggers_.find(object); known != triggers_.end()) {
        known->second.told = now;
        continue;
      }
    }
    auto trigger = keda::ParseTrigger(object, parts_.rules);
    if (!trigger) {
      Refuse(unusable_, trigger.error().message);
      continue;
    }
    const auto stream = std::make_shared<RemoteStream>(*this);
    if (const auto added = parts_.activity.Add(stream, *std::move(trigger)); !added) {
      Refuse(unusable_, added.error().message);
      continue;
    }
    const base::MutexLock lock(mutex_);
    triggers_.emplace(std::move(object), RemoteTrigger{stream, now});
  }
}

void ReplicaExchange::ForgetTriggers() {
  const base::SteadyTime now = parts_.clock.Now();
  std::vector<std::shared_ptr<RemoteStream>> gone;
  {
    const base::MutexLock lock(mutex_);
    std::erase_if(triggers_, [&](const auto& entry) {
      if (now - entry.second.told < kTriggerLease) return false;
      gone.push_back(entry.second.stream);
      return true;
    });
  }
  for (const auto& stream : gone) parts_.activity.Remove(*stream);
}

}  // namespace activescale::app
