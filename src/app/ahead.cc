#include "app/ahead.h"

#include <fmt/format.h>

#include <utility>

#include "base/ascii.h"
#include "base/log.h"
#include "kube/api_client.h"
#include "kube/pod_store.h"
#include "metricsapi/request_target.h"
#include "scaleahead/rendezvous.h"

namespace activescale::app {
namespace {

using scaleahead::MetricReader;
using scaleahead::MetricReading;

/// Who acts is looked up this often; a replica that died is noticed by its EndpointSlice.
constexpr std::chrono::milliseconds kReplicasAge{100};

/// What the controller makes of our answer.
MetricReading FromCustom(base::Result<metricsapi::CustomMetricsAnswer> found) {
  MetricReading out;
  if (!found) {
    out.answer.error = std::move(found.error().message);
    return out;
  }
  out.facts.partial = found->partial;
  for (metricsapi::CustomMetricsAnswer::Pod& pod : found->pods) {
    if (!found->sum) out.answer.by_pod[pod.name] = {.value_milli = pod.value.milli()};
    out.facts.times.push_back(
        {.pod = std::move(pod.name), .received = pod.received, .busy = pod.value.milli() > 0});
  }
  if (found->sum) out.answer.values.push_back(found->sum->milli());
  if (found->pods.empty()) out.answer.error = "no metrics returned from custom metrics API";
  return out;
}

MetricReading FromExternal(const base::Result<std::vector<signal::Reading>>& found) {
  MetricReading out;
  if (!found) {
    out.answer.error = found.error().message;
    return out;
  }
  for (const signal::Reading& reading : *found) {
    out.answer.values.push_back(
        metric::Quantity::FromSample(reading.value).value_or(metric::Quantity()).milli());
  }
  return out;
}

/// The External metric of an HPA as the controller asks us for it.
base::Result<metricsapi::ExternalMetricsQuery> QueryOf(const kube::HpaObject& hpa, size_t metric) {
  auto selector = metric::Selector::Parse(hpa.sources[metric].selector);
  if (!selector) return std::unexpected(std::move(selector.error()));
  return metricsapi::ExternalMetricsQuery{hpa.ns, base::Lower(hpa.spec.metrics[metric].name),
                                          *std::move(selector)};
}

/// What we are asked for an HPA's External metrics, by the controller or by KEDA.
std::vector<std::string> QuestionsOf(const kube::HpaObject& hpa) {
  std::vector<std::string> questions;
  for (size_t i = 0; i < hpa.spec.metrics.size(); ++i) {
    const hpa::MetricSpec& spec = hpa.spec.metrics[i];
    if (spec.type != hpa::MetricType::kExternal) continue;
    if (const auto through = keda::ParseHpaMetric(spec.name, hpa.sources[i].selector)) {
      questions.push_back(keda::QuestionOf(hpa.ns, through->object, through->name));
    } else if (const auto query = QueryOf(hpa, i)) {
      questions.push_back(metricsapi::QuestionOf(*query));
    }
  }
  return questions;
}

scaleahead::Mode ModeOf(ScaleAhead setting) {
  if (setting == ScaleAhead::kOff) return scaleahead::Mode::kOff;
  return setting == ScaleAhead::kOn ? scaleahead::Mode::kOn : scaleahead::Mode::kObserve;
}

}  // namespace

std::unique_ptr<Ahead> Ahead::Make(const Config& config, Cluster* cluster, const Parts& parts,
                                   const base::Clock& clock, telemetry::Registry& registry) {
  // The settings without a cluster are refused.
  if (config.scale_ahead == ScaleAhead::kOff || cluster == nullptr) return nullptr;
  return std::unique_ptr<Ahead>(new Ahead(config, *cluster, parts, clock, registry));
}

Ahead::Ahead(const Config& config, Cluster& cluster, const Parts& parts, const base::Clock& clock,
             telemetry::Registry& registry)
    : config_(config),
      clock_(clock),
      cluster_(cluster),
      external_(parts.external),
      moments_(parts.moments),
      custom_(cluster.pods(), parts.store, parts.windows, clock, not_served_),
      tap_(parts.ingest),
      standing_(
          parts.store, [this](metric::PodKeyView pod) { return cluster_.pods().WorkloadOf(pod); },
          clock, registry),
      hands_({.instance = config.pod_name}, cluster.api(), clock, registry),
      runner_({.mode = ModeOf(config.scale_ahead), .polls = !config.redis.address.empty()},
              MakeSeams(), hands_, clock, registry),
      watch_(cluster.WatchContext(), config.namespaces, MakeListener()),
      scaled_objects_(cluster.WatchContext(), config.namespaces,
                      [this](std::string ns) {
                        loop_.Post([this, ns = std::move(ns)] { runner_.OnSourcesChanged(ns); });
                      },
                      {}),
      keda_({.scaler = parts.scaler,
             .rules = parts.trigger_rules,
             .address = {.host = config.keda_address.host,
                         .port = config.keda_address.port,
                         .service = config.service_name,
                         .ns = config.pod_namespace},
             .post = parts.post,
             .find = [this](std::string_view ns,
                            std::string_view name) { return scaled_objects_.Find(ns, name); },
             .known = [this](std::string_view ns) { return scaled_objects_.Check(ns); }}) {}

scaleahead::Seams Ahead::MakeSeams() {
  return {.reader_of = [this](const kube::HpaObject& hpa, size_t metric,
                              const std::string& pods) { return ReaderOf(hpa, metric, pods); },
          .pods_of = [this](std::string_view ns,
                            const metric::Selector& selector) { return PodsOf(ns, selector); },
          .workload_of = [this](metric::PodKeyView pod) { return cluster_.pods().WorkloadOf(pod); },
          .acts_for = [this](std::string_view key) { return ActsFor(key); },
          .watches_fresh = [this](std::string_view ns) { return watch_.Check(ns).has_value(); },
          .stepped = [this](const kube::HpaObject& hpa,
                            const metric::Selector& selector) { OnStepped(hpa, selector); },
          .broken = [this](const kube::HpaObject& hpa) { OnBroken(hpa); },
          .post = [this](auto work) { loop_.Post(std::move(work)); }};
}

scaleahead::ObjectWatch::Listener Ahead::MakeListener() {
  return {
      .on_hpa =
          [this](kube::HpaObject hpa) {
            loop_.Post([this, hpa = std::move(hpa)]() mutable { runner_.OnHpa(std::move(hpa)); });
          },
      .on_hpa_gone =
          [this](std::string ns, std::string name) {
            loop_.Post([this, ns = std::move(ns), name = std::move(name)] {
              runner_.OnHpaGone(ns, name);
            });
          },
      .on_target =
          [this](scaleahead::Target target) {
            loop_.Post([this, target = std::move(target)]() mutable {
              runner_.OnTarget(std::move(target));
            });
          },
      .on_target_gone =
          [this](std::string ns, std::string resource, std::string name) {
            loop_.Post([this, ns = std::move(ns), resource = std::move(resource),
                        name = std::move(name)] { runner_.OnTargetGone(ns, resource, name); });
          }};
}

base::Result<MetricReader> Ahead::ExternalReaderOf(const kube::HpaObject& hpa, size_t metric) {
  const hpa::MetricSpec& spec = hpa.spec.metrics[metric];
  const std::string& wanted = hpa.sources[metric].selector;
  if (const auto through = keda::ParseHpaMetric(spec.name, wanted)) {
    return keda_.ReaderOf(hpa, metric, *through);
  }
  if (external_ == nullptr) {
    return base::Fail(
        base::Code::kNotFound,
        "external metrics are not served by this process: external-metrics is not given");
  }
  auto query = QueryOf(hpa, metric);
  if (!query) return std::unexpected(std::move(query.error()));
  return [external = external_, query = *std::move(query)](auto done) {
    external->ReadValues(
        query, [done = std::move(done)](const auto& found) mutable { done(FromExternal(found)); });
  };
}

base::Result<MetricReader> Ahead::ReaderOf(const kube::HpaObject& hpa, size_t metric,
                                           const std::string& pods) {
  const hpa::MetricSpec& spec = hpa.spec.metrics[metric];
  if (spec.type == hpa::MetricType::kExternal) return ExternalReaderOf(hpa, metric);
  if (spec.type != hpa::MetricType::kPods && spec.type != hpa::MetricType::kObject) {
    return base::Fail(base::Code::kNotFound, "it is served by the resource metrics API");
  }
  const kube::MetricSource& source = hpa.sources[metric];
  const std::string path =
      kube::CustomMetricPath("/apis/custom.metrics.k8s.io/v1beta2", hpa.ns, spec, source,
                             kube::ResourceOf(source.object.group(), source.object.kind), pods);
  const auto target = metricsapi::ParseTarget(path);
  if (!target) return std::unexpected(target.error());
  auto query = metricsapi::ParseCustomMetricsQuery(*target);
  if (!query) return std::unexpected(std::move(query.error()));
  return [custom = &custom_, query = std::make_shared<const metricsapi::CustomMetricsQuery>(
                                 *std::move(query))](auto done) {
    custom->ReadValues(query, [done = std::move(done)](auto found) mutable {
      done(FromCustom(std::move(found)));
    });
  };
}

base::Result<std::vector<scaleahead::TargetPod>> Ahead::PodsOf(
    std::string_view ns, const metric::Selector& selector) const {
  const auto found = cluster_.pods().Describe(ns, selector);
  if (!found) return std::unexpected(found.error());
  std::vector<scaleahead::TargetPod> pods;
  pods.reserve(found->size());
  for (const kube::PodInfo& pod : *found) {
    pods.push_back({.pod = {.name = pod.name,
                            .phase = pod.phase,
                            .deleting = pod.terminating,
                            .ready = pod.ready},
                    .ready_since = pod.ready ? std::optional(pod.ready_since) : std::nullopt});
  }
  return pods;
}

void Ahead::OnStepped(const kube::HpaObject& hpa, const metric::Selector& selector) {
  auto pods = cluster_.pods().Select(hpa.ns, selector);
  if (pods) standing_.Stand(hpa.ns, hpa.target.name, *pods);
  for (std::string& question : QuestionsOf(hpa)) {
    moments_.Stand(std::move(question), scaleahead::StandingStore::kTime);
  }
}

void Ahead::OnBroken(const kube::HpaObject& hpa) {
  standing_.Release(hpa.ns, hpa.target.name);
  for (const std::string& question : QuestionsOf(hpa)) moments_.Release(question);
}

/// One replica acts for an HPA, and none while it is not known which ones are ready. Replicas that
/// share no store know different pods: then nobody acts who sees another one.
bool Ahead::ActsFor(std::string_view key) {
  if (config_.pod_namespace.empty()) return true;  // nobody told us which Service is ours
  const base::SteadyTime now = clock_.Now();
  if (replicas_at_ == base::SteadyTime::min() || now - replicas_at_ > kReplicasAge) {
    replicas_at_ = now;
    replicas_ = cluster_.ReadyReplicas().value_or(std::vector<std::string>());
  }
  const bool shared = !config_.redis.address.empty();
  if (!shared && replicas_.size() > 1) return false;
  return scaleahead::Winner(replicas_, key) == config_.pod_name;
}

void Ahead::Start() {
  LOG_INFO("steps ahead of the HPA controller: {}, for HPAs with the annotation {}",
           config_.scale_ahead == ScaleAhead::kOn ? "on" : "observed only",
           scaleahead::kAnnotation);
  ticks_ = loop_.Every(scaleahead::Runner::kTick, [this] {
    tap_.SetWanted(runner_.wants_pushes());
    runner_.OnPushed(tap_.Take());
    runner_.Tick();
  });
  watch_.Start();
  scaled_objects_.Start();
  thread_ = std::make_unique<Thread>("ahead", [this] { loop_.Run(); });
}

void Ahead::Stop() {
  ticks_ = {};
  loop_.Stop();
  thread_.reset();
}

}  // namespace activescale::app
