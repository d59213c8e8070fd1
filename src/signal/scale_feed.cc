#include "signal/scale_feed.h"

#include "base/unix_time.h"
#include "kube/scale_watch.h"
#include "series/matcher.h"

namespace activescale::signal {
namespace {

constexpr const char* kAtMaximum = "activescale_hpa_at_max_seconds";

}  // namespace

ScaleFeed::ScaleFeed(Source source, series::SeriesStore& series, const base::Clock& clock,
                     telemetry::Registry& registry)
    : source_(std::move(source)), series_(series), clock_(clock), registry_(registry) {}

const ScaleFeed::Kind& ScaleFeed::HpaKind() {
  static const Kind kind{.label = "horizontalpodautoscaler",
                         .numbers = {{"kube_horizontalpodautoscaler_spec_min_replicas",
                                      "The least replicas that the HPA may ask for."},
                                     {"kube_horizontalpodautoscaler_spec_max_replicas",
                                      "The most replicas that the HPA may ask for."},
                                     {"kube_horizontalpodautoscaler_status_current_replicas",
                                      "Replicas that the HPA last saw."},
                                     {"kube_horizontalpodautoscaler_status_desired_replicas",
                                      "Replicas that the HPA last asked for."}}};
  return kind;
}

const ScaleFeed::Kind& ScaleFeed::DeploymentKind() {
  static const Kind kind{
      .label = "deployment",
      .numbers = {
          {"kube_deployment_spec_replicas", "Pods that the Deployment is to have."},
          {"kube_deployment_status_replicas", "Pods that the Deployment has."},
          {"kube_deployment_status_replicas_ready", "Pods of the Deployment that are ready."},
          {"kube_deployment_status_replicas_available",
           "Pods of the Deployment that have been ready for its minReadySeconds."}}};
  return kind;
}

std::vector<series::MetricMetadata> ScaleFeed::Metadata() {
  std::vector<series::MetricMetadata> all;
  for (const Kind* kind : {&HpaKind(), &DeploymentKind()}) {
    for (const Number& number : kind->numbers) {
      all.push_back({std::string(number.series), "gauge", std::string(number.help), ""});
    }
  }
  return all;
}

metric::Labels ScaleFeed::LabelsOf(const Kind& kind, size_t number, const Name& name) {
  return metric::Labels(
      {{std::string(series::kNameLabel), std::string(kind.numbers[number].series)},
       {"namespace", name.first},
       {std::string(kind.label), name.second}});
}

void ScaleFeed::Tick() {
  if (!source_.fresh()) return;
  const auto hpas = source_.hpas.List();
  WatchMaximum(hpas);
  const int64_t now_ms = base::UnixMsNow(clock_);
  const int64_t time_ms = now_ms - now_ms % kInterval.count();
  if (series_.selectors_version() == 0 || time_ms == sampled_ms_) return;
  sampled_ms_ = time_ms;
  Append(HpaKind(), hpas, time_ms, seen_hpas_);
  Append(DeploymentKind(), source_.deployments.List(), time_ms, seen_deployments_);
}

void ScaleFeed::Append(const Kind& kind, const std::vector<kube::ObjectNumbers::Object>& objects,
                       int64_t time_ms, std::map<Name, int64_t>& seen) {
  for (const kube::ObjectNumbers::Object& object : objects) {
    const Name name{object.ns, object.name};
    seen[name] = time_ms;
    for (size_t i = 0; i < kind.numbers.size(); ++i) {
      if (object.numbers[i]) series_.Append(LabelsOf(kind, i, name), {time_ms, *object.numbers[i]});
    }
  }
  std::erase_if(seen, [&](const auto& entry) {
    if (entry.second == time_ms) return false;
    for (size_t i = 0; i < kind.numbers.size(); ++i) {
      series_.MarkStale(LabelsOf(kind, i, entry.first), time_ms);
    }
    return true;
  });
}

void ScaleFeed::WatchMaximum(const std::vector<kube::ObjectNumbers::Object>& hpas) {
  const base::SteadyTime now = clock_.Now();
  for (auto& [name, state] : at_maximum_) state.known = false;
  for (const kube::ObjectNumbers::Object& hpa : hpas) {
    const auto& maximum = hpa.numbers[kube::ScaleWatch::kMaxReplicas];
    const auto& current = hpa.numbers[kube::ScaleWatch::kCurrentReplicas];
    const bool is_at_maximum = maximum && current && *current >= *maximum;
    const Name name{hpa.ns, hpa.name};
    auto found = at_maximum_.find(name);
    if (found == at_maximum_.end()) {
      telemetry::Gauge& seconds = registry_.AddGauge(
          kAtMaximum, "For how long the HPA has run at its maximum of replicas, as seen here.",
          {{"namespace", hpa.ns}, {"horizontalpodautoscaler", hpa.name}});
      found = at_maximum_.emplace(name, AtMaximum{&seconds, now}).first;
    }
    AtMaximum& state = found->second;
    state.known = true;
    if (!is_at_maximum) state.since = now;
    state.seconds->Set(std::chrono::duration<double>(now - state.since).count());
  }
  std::erase_if(at_maximum_, [this](const auto& entry) {
    if (entry.second.known) return false;
    registry_.RemoveGauge(kAtMaximum, *entry.second.seconds);
    return true;
  });
}

}  // namespace activescale::signal
