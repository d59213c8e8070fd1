#include "signal/envoy_feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/unix_time.h"
#include "series/matcher.h"

namespace activescale::signal {
namespace {

// A shared store tells when a flush was received on its server's clock, which is known to a few
// milliseconds: moments this near to each other are the same flush. Envoys flush less often.
constexpr int64_t kSameFlushMs = 100;

bool NameFits(const series::Matchers& matchers, std::string_view name) {
  return std::ranges::all_of(matchers, [name](const series::Matcher& matcher) {
    return matcher.label() != series::kNameLabel || matcher.Matches(name);
  });
}

bool AsksForName(const series::Matchers& matchers) {
  return std::ranges::any_of(matchers, [](const series::Matcher& matcher) {
    return matcher.label() == series::kNameLabel;
  });
}

std::string Text(const series::Matchers& matchers) {
  std::string text = "{";
  for (const series::Matcher& matcher : matchers) {
    if (text.size() > 1) text += ", ";
    text += matcher.ToString();
  }
  return text + "}";
}

}  // namespace

class EnvoyFeed::Stream final : public store::PodStream {
 public:
  Stream(EnvoyFeed& feed, const metric::PodKey& pod)
      : feed_(feed), pod_(pod), stream_(feed.store_.Open(pod)) {}

  store::WriteOutcome Write(const store::Flush& flush, base::SteadyTime received) override {
    const store::WriteOutcome outcome = stream_->Write(flush, received);
    if (outcome == store::WriteOutcome::kStored) feed_.OnWrite(pod_, flush, received);
    return outcome;
  }
  store::WriteOutcome Heartbeat(base::SteadyTime received) override {
    return stream_->Heartbeat(received);
  }

 private:
  EnvoyFeed& feed_;
  const metric::PodKey pod_;
  const std::unique_ptr<store::PodStream> stream_;
};

EnvoyFeed::EnvoyFeed(Options options, store::SampleStore& store, const kube::PodIndex& pods,
                     series::SeriesStore& series, const base::Clock& clock,
                     telemetry::Registry& registry)
    : options_(std::move(options)),
      store_(store),
      index_(pods),
      series_(series),
      clock_(clock),
      polls_(registry.AddCounter("activescale_feed_polls_total",
                                 "Reads of the store to fill series of Envoy's metrics.")),
      failed_polls_(registry.AddCounter("activescale_feed_failed_polls_total",
                                        "Such reads that the store did not answer whole, or that "
                                        "no pods were known for.")) {}

EnvoyFeed::~EnvoyFeed() = default;

std::unique_ptr<store::PodStream> EnvoyFeed::Open(metric::PodKey pod) {
  return std::make_unique<Stream>(*this, pod);
}

void EnvoyFeed::OnWrite(const metric::PodKey& key, const store::Flush& flush,
                        base::SteadyTime received) {
  const uint64_t version = series_.selectors_version();
  if (version == 0) return;
  bool appended = false;
  {
    const base::MutexLock lock(mutex_);
    Pod* const pod = FindOrAdd(key);
    // One that the index does not know yet comes with a later flush, or a poll.
    if (pod == nullptr || !UpdateWanted(*pod, version)) return;
    pod->state = Pod::State::kFresh;
    pod->heard = true;
    pod->written = clock_.Now();
    const int64_t time_ms = base::UnixMsAt(clock_, received);
    for (size_t kind = 0; kind < metric::kMetricKindCount; ++kind) {
      if (flush.values[kind] && Append(*pod, kind, *flush.values[kind], time_ms)) appended = true;
    }
  }
  if (appended && listener_) listener_();
}

metric::Labels EnvoyFeed::LabelsOf(const metric::PodKey& key, const std::string& workload,
                                   size_t kind) const {
  std::vector<metric::Labels::Entry> entries = {
      {std::string(series::kNameLabel), std::string(metric::kMetricNames[kind])},
      {"namespace", key.ns},
      {"pod", key.name}};
  if (!workload.empty()) entries.emplace_back("workload", workload);
  if (!options_.cluster.empty()) entries.emplace_back("cluster", options_.cluster);
  return metric::Labels(std::move(entries));
}

EnvoyFeed::Pod* EnvoyFeed::FindOrAdd(const metric::PodKey& key) {
  if (const auto found = pods_.find(key); found != pods_.end()) return &found->second;
  const auto workload = index_.WorkloadOf(key.View());
  return workload ? &Put(key, *workload) : nullptr;
}

EnvoyFeed::Pod& EnvoyFeed::Put(const metric::PodKey& key, const std::string& workload) {
  const auto [at, is_new] = pods_.try_emplace(key);
  Pod& pod = at->second;
  pod.listed = polls_begun_;
  if (!is_new && pod.workload == workload) return pod;
  if (!is_new) {
    MarkStale(pod);
    by_workload_.erase({pod.workload, &*at});
  }
  pod = Pod{};
  pod.workload = workload;
  pod.listed = polls_begun_;
  for (size_t kind = 0; kind < metric::kMetricKindCount; ++kind) {
    pod.labels[kind] = LabelsOf(key, workload, kind);
  }
  by_workload_.emplace(workload, &*at);
  return pod;
}

/// Whether any metric of the pod is wanted.
bool EnvoyFeed::UpdateWanted(Pod& pod, uint64_t version) {
  const auto any = [&pod] { return std::ranges::find(pod.wanted, true) != pod.wanted.end(); };
  if (pod.wanted_at == version) return any();
  pod.wanted_at = version;
  for (size_t kind = 0; kind < metric::kMetricKindCount; ++kind) {
    const bool wanted = series_.Wants(pod.labels[kind]);
    // The newest sample is not in a series that begins now.
    if (wanted && !pod.wanted[kind]) pod.newest_ms[kind] = 0;
    pod.wanted[kind] = wanted;
  }
  // Polls pass over what nobody wants.
  if (!any()) pod.state = Pod::State::kUnread;
  return any();
}

bool EnvoyFeed::Append(Pod& pod, size_t kind, metric::Quantity value, int64_t time_ms) {
  if (!pod.wanted[kind] || time_ms <= pod.newest_ms[kind]) return false;
  const auto outcome = series_.Append(pod.labels[kind], {time_ms, value.ToDouble()});
  if (outcome != series::AppendOutcome::kStored) return false;
  pod.newest_ms[kind] = time_ms;
  return true;
}

void EnvoyFeed::MarkStale(const Pod& pod) {
  const int64_t now_ms = base::UnixMsNow(clock_);
  for (const metric::Labels& labels : pod.labels) series_.MarkStale(labels, now_ms);
}

bool EnvoyFeed::Poll() {
  if (UnderWay()) return false;
  if (series_.selectors_version() == 0) {
    Forget();
    return true;
  }
  polls_.Increment();
  uint64_t poll = 0;
  {
    const base::MutexLock lock(mutex_);
    poll = ++polls_begun_;
  }
  const base::SteadyTime begun = clock_.Now();
  const auto listed = index_.List();
  if (!listed) {
    Report(listed.error().message);
    return true;
  }
  trip_ = std::make_shared<Trip>(begun, Take(*listed, poll));
  // A copy: an answer that comes at once may be followed by the end of this trip.
  const std::vector<metric::PodKey> asked = trip_->asked;
  for (size_t kind = 0; kind < metric::kMetricKindCount; ++kind) {
    store_.Read(
        asked, static_cast<metric::MetricKind>(kind),
        [this, kind, weak = std::weak_ptr(trip_)](const base::Result<store::ReadResult>& result) {
          if (const auto trip = weak.lock()) OnRead(*trip, kind, result);
        });
  }
  return true;
}

bool EnvoyFeed::UnderWay() const {
  const base::MutexLock lock(mutex_);
  return trip_ != nullptr && trip_->reads_left > 0;
}

void EnvoyFeed::Forget() {
  const base::MutexLock lock(mutex_);
  by_workload_.clear();
  pods_.clear();
  polled_ = false;
  problem_.clear();
}

std::vector<metric::PodKey> EnvoyFeed::Take(const std::vector<kube::IndexedPod>& listed,
                                            uint64_t poll) {
  std::vector<metric::PodKey> wanted;
  const uint64_t version = series_.selectors_version();
  for (const kube::IndexedPod& pod : listed) {
    // One lock each, so that a push never waits for all of them.
    const base::MutexLock lock(mutex_);
    if (UpdateWanted(Put(pod.key, pod.workload), version)) wanted.push_back(pod.key);
  }
  const base::MutexLock lock(mutex_);
  for (auto at = pods_.begin(); at != pods_.end();) {
    if (at->second.listed == poll) {
      ++at;
      continue;
    }
    MarkStale(at->second);
    by_workload_.erase({at->second.workload, &*at});
    at = pods_.erase(at);
  }
  return wanted;
}

void EnvoyFeed::OnRead(Trip& trip, size_t kind, const base::Result<store::ReadResult>& result) {
  bool appended = false;
  for (size_t i = 0; result && i < trip.asked.size(); ++i) {
    const base::MutexLock lock(mutex_);
    const auto found = pods_.find(trip.asked[i]);
    if (found == pods_.end()) continue;
    const store::PodReading& reading = result->readings[i];
    // A flush that came meanwhile knows better.
    if (reading.state == store::PodReading::State::kMissing && found->second.written >= trip.begun)
      continue;
    if (TakeReading(found->second, kind, reading, result->partial)) appended = true;
  }
  bool last = false;
  {
    const base::MutexLock lock(mutex_);
    trip.appended = trip.appended || appended;
    if (!result) trip.problem = result.error().message;
    last = --trip.reads_left == 0;
  }
  if (last) OnPolled(trip);
}

bool EnvoyFeed::TakeReading(Pod& pod, size_t kind, const store::PodReading& reading, bool partial) {
  if (reading.state == store::PodReading::State::kMissing) {
    if (partial) {
      pod.state = Pod::State::kUnknown;
      return false;
    }
    if (pod.state != Pod::State::kSilent) MarkStale(pod);
    pod.state = Pod::State::kSilent;
    return false;
  }
  pod.state = Pod::State::kFresh;
  pod.heard = true;
  const int64_t time_ms = base::UnixMsAt(clock_, reading.received);
  if (time_ms <= pod.newest_ms[kind] + kSameFlushMs) return false;
  return Append(pod, kind, reading.value, time_ms);
}

void EnvoyFeed::OnPolled(Trip& trip) {
  bool appended = false;
  std::string problem;
  {
    const base::MutexLock lock(mutex_);
    appended = trip.appended;
    problem = trip.problem;
    if (problem.empty()) {
      polled_ = true;
      problem_.clear();
    }
  }
  if (!problem.empty()) return Report(std::move(problem));
  if (appended && listener_) listener_();
}

void EnvoyFeed::Report(std::string problem) {
  failed_polls_.Increment();
  if (poll_warning_.Pass(clock_.Now())) {
    LOG_WARNING("windows of Envoy's metrics are not filled: {}", problem);
  }
  const base::MutexLock lock(mutex_);
  problem_ = std::move(problem);
}

/// With a condition workload="x" only its pods are looked at.
std::vector<const EnvoyFeed::Entry*> EnvoyFeed::Selected(const series::Matchers& matchers) const {
  std::vector<const Entry*> selected;
  const auto take = [&](const Entry& entry) {
    const auto fits = [&matchers](const metric::Labels& labels) {
      return series::MatchesAll(matchers, labels);
    };
    if (std::ranges::any_of(entry.second.labels, fits)) selected.push_back(&entry);
  };
  const auto workload = std::ranges::find_if(matchers, [](const series::Matcher& matcher) {
    return matcher.op() == series::Matcher::Op::kEqual && matcher.label() == "workload";
  });
  if (workload == matchers.end()) {
    for (const Entry& entry : pods_) take(entry);
    return selected;
  }
  for (auto at = by_workload_.lower_bound({workload->value(), nullptr});
       at != by_workload_.end() && at->first == workload->value(); ++at) {
    take(*at->second);
  }
  return selected;
}

base::Result<void> EnvoyFeed::Check(const series::Matchers& matchers) const {
  const auto fits = [&](std::string_view name) { return NameFits(matchers, name); };
  if (std::ranges::none_of(metric::kMetricNames, fits)) return {};
  const auto away = [&](std::string_view why) {
    return base::Fail(base::Code::kUnavailable,
                      fmt::format("{} is not known now: {}", Text(matchers), why));
  };
  const base::MutexLock lock(mutex_);
  const std::vector<const Entry*> selected = Selected(matchers);
  // Without a name other series may be meant.
  if (selected.empty() && !AsksForName(matchers)) return {};
  if (!problem_.empty()) return away(problem_);
  if (!polled_) return away("nobody asked for it before; ask again in a second");
  struct Workload {
    size_t fresh = 0;
    bool heard = false;
    bool unread = false;
  };
  std::map<std::pair<std::string_view, std::string_view>, Workload> workloads;
  Workload all;
  for (const Entry* entry : selected) {
    const Pod& pod = entry->second;
    if (pod.state == Pod::State::kUnknown) {
      return away(fmt::format("the part of the store that has pod {}/{} does not answer",
                              entry->first.ns, entry->first.name));
    }
    for (Workload* sum : {&all, &workloads[{entry->first.ns, pod.workload}]}) {
      sum->fresh += pod.state == Pod::State::kFresh ? 1 : 0;
      sum->heard = sum->heard || pod.heard;
      sum->unread = sum->unread || pod.state == Pod::State::kUnread;
    }
  }
  if (all.fresh == 0) {
    if (all.unread) return away("nobody asked for it before; ask again in a second");
    return away(selected.empty()
                    ? std::string("no pod is known that it selects")
                    : fmt::format("none of its {} pods has a fresh heartbeat", selected.size()));
  }
  for (const auto& [name, workload] : workloads) {
    if (workload.fresh > 0 || workload.unread || !workload.heard) continue;
    return away(
        fmt::format("no pod of {}/{} has a fresh heartbeat any more", name.first, name.second));
  }
  return {};
}

}  // namespace activescale::signal
