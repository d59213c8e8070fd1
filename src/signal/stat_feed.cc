#include "signal/stat_feed.h"

#include <utility>
#include <vector>

#include "base/unix_time.h"
#include "series/matcher.h"

namespace activescale::signal {

StatFeed::StatFeed(Options options, metric::StatChooser chooser, const kube::PodIndex& pods,
                   series::SeriesStore& series, const base::Clock& clock,
                   telemetry::Registry& registry)
    : options_(std::move(options)),
      chooser_(std::move(chooser)),
      index_(pods),
      series_(series),
      clock_(clock),
      stats_(registry.AddGauge("activescale_envoy_stats",
                               "Stats of Envoys that were chosen by envoy-stats and are known.")),
      full_(registry.AddCounter("activescale_envoy_stats_dropped_total",
                                "Chosen stats that were dropped because too many are known.")) {}

StatFeed::~StatFeed() = default;

std::shared_ptr<StatFeed::Pod> StatFeed::FindOrAdd(const metric::PodKey& key) {
  const base::MutexLock lock(mutex_);
  if (const auto found = pods_.find(key); found != pods_.end()) return found->second;
  const auto workload = index_.WorkloadOf(key.View());
  if (!workload) return nullptr;
  return pods_.emplace(key, std::make_shared<Pod>(key, *workload)).first->second;
}

StatFeed::Stat* StatFeed::FindOrAdd(Pod& pod, const metric::ChosenStat& stat) {
  std::string id(stat.name);
  for (const metric::LabelView& label : stat.labels) {
    id.append(1, '\0').append(label.name).append(1, '\0').append(label.value);
  }
  if (const auto found = pod.stats.find(id); found != pod.stats.end()) return &found->second;
  const auto series = chooser_.SeriesOf(stat.name, stat.labels);
  if (!series) return nullptr;
  if (stat_count_.load(std::memory_order_relaxed) >= options_.max_stats) {
    full_.Increment();
    return nullptr;
  }
  stat_count_.fetch_add(1, std::memory_order_relaxed);
  // Ours last: of a repeated label the last one counts. An empty value is the same as no label.
  std::vector<metric::Labels::Entry> entries = series->labels;
  for (const auto& [label, value] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {series::kNameLabel, series->name},
           {"namespace", pod.key.ns},
           {"pod", pod.key.name},
           {"workload", pod.workload},
           {"cluster", options_.cluster}}) {
    entries.emplace_back(label, value);
  }
  std::erase_if(entries, [](const auto& entry) { return entry.second.empty(); });
  return &pod.stats
              .emplace(std::move(id),
                       Stat{.labels = metric::Labels(std::move(entries)), .counter = stat.counter})
              .first->second;
}

void StatFeed::Append(Stat& stat, int64_t time_ms) {
  const uint64_t version = series_.selectors_version();
  if (stat.wanted_at != version) {
    stat.wanted_at = version;
    stat.wanted = series_.Wants(stat.labels);
  }
  if (!stat.wanted || time_ms <= stat.newest_ms) return;
  series_.Append(stat.labels, {time_ms, stat.value});
  stat.newest_ms = time_ms;
}

/// In the flush that ends, which has had all its messages.
bool StatFeed::RepeatCounters(Pod& pod) {
  bool any = false;
  for (auto& [id, stat] : pod.stats) {
    if (!stat.counter) continue;
    Append(stat, pod.flush_ms);
    any = any || stat.wanted;
  }
  return any;
}

void StatFeed::Take(const metric::PodKey& pod, std::span<const metric::ChosenStat> stats,
                    base::SteadyTime received, bool begins_flush) {
  const Message message{.pod = pod,
                        .stats = stats,
                        .time_ms = base::UnixMsAt(clock_, received),
                        .begins_flush = begins_flush};
  const auto recorded = Record(message);
  if (!recorded || !listener_) return;
  listener_({.pod = pod,
             .stats = *recorded,
             .time_ms = message.time_ms,
             .begins_flush = message.begins_flush});
}

std::optional<std::vector<metric::ChosenStat>> StatFeed::Record(const Message& message) {
  const std::shared_ptr<Pod> pod = FindOrAdd(message.pod);
  if (pod == nullptr) return std::nullopt;
  std::vector<metric::ChosenStat> recorded;
  bool has_counters = false;
  const base::MutexLock lock(pod->mutex);
  pod->heard = clock_.Now();
  if (message.begins_flush) {
    if (pod->flush_ms != 0) has_counters = RepeatCounters(*pod);
    pod->flush_ms = message.time_ms;
  }
  for (const metric::ChosenStat& chosen : message.stats) {
    Stat* const stat = FindOrAdd(*pod, chosen);
    if (stat == nullptr) continue;
    stat->value = chosen.value;
    Append(*stat, message.time_ms);
    if (stat->wanted) recorded.push_back(chosen);
  }
  if (recorded.empty() && !has_counters) return std::nullopt;
  return recorded;
}

void StatFeed::End(Pod& pod) {
  const int64_t now_ms = base::UnixMsNow(clock_);
  for (const auto& [id, stat] : pod.stats) series_.MarkStale(stat.labels, now_ms);
  stat_count_.fetch_sub(pod.stats.size(), std::memory_order_relaxed);
  pod.stats.clear();
}

void StatFeed::Expire() {
  const bool active = Active();
  const base::SteadyTime now = clock_.Now();
  const base::MutexLock lock(mutex_);
  std::erase_if(pods_, [&](const Pods::value_type& entry) {
    Pod& pod = *entry.second;
    const base::MutexLock pod_lock(pod.mutex);
    if (active && now - pod.heard < options_.ttl &&
        index_.WorkloadOf(pod.key.View()) == pod.workload)
      return false;
    End(pod);
    return true;
  });
  stats_.Set(static_cast<double>(stat_count_.load(std::memory_order_relaxed)));
}

}  // namespace activescale::signal
