// 1,000 HPAs with ten pods each that flush once a second: one iteration is what a second of that
// takes on the thread "ahead", which is to be less than half a core. "Calm": the load is at the
// target. "Busy": every look asks for more pods than the HPA's limits allow now.

#include <benchmark/benchmark.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/fake_clock.h"
#include "kube/pod_store.h"
#include "scaleahead/runner.h"
#include "scaleahead/testing/objects.h"
#include "store/embedded_store.h"

namespace activescale::scaleahead {
namespace {

constexpr int kHpas = 1000;
constexpr int kPods = 10;
constexpr int kTicks = 50;  // a second of them
constexpr auto kKind = metric::MetricKind::kInboundActiveRequests;

class NoHands final : public Hands {
 public:
  void Scale(const Step&, std::move_only_function<void(StepResult)>) override { ++calls; }
  void Tell(const kube::HpaObject&, const Notice&) override { ++calls; }
  int calls = 0;
};

std::string App(int i) { return "web" + std::to_string(i); }

/// All of it, with the real stores of pods and values.
class World {
 public:
  explicit World(double value) {
    for (int i = 0; i < kHpas; ++i) {
      for (int j = 0; j < kPods; ++j) AddPod(i, j, value);
      Target target{.ns = "shop", .kind = "Deployment", .resource = "deployments", .name = App(i)};
      target.resource_version = "1";
      target.selector = "app=" + App(i);
      target.spec_replicas = target.status_replicas = kPods;
      runner_.OnTarget(std::move(target));
      kube::HpaObject hpa = WebHpa();
      hpa.name = hpa.uid = hpa.target.name = App(i);
      hpa.spec.behavior->up.select = hpa::SelectPolicy::kDisabled;
      runner_.OnHpa(std::move(hpa));
    }
    clock_.Advance(std::chrono::seconds(60));
  }

  void Second() {
    for (int tick = 0; tick < kTicks; ++tick) {
      clock_.Advance(Runner::kTick);
      PushTap::Pushed pushed;
      for (size_t i = static_cast<size_t>(tick); i < keys_.size(); i += kTicks) {
        streams_[i]->Write(flushes_[i], clock_.Now());
        pushed.pods.push_back(keys_[i]);
      }
      runner_.OnPushed(pushed);
      runner_.Tick();
      for (; !posted_.empty(); posted_.pop_front()) posted_.front()();
    }
  }

  [[nodiscard]] int calls() const { return hands_.calls; }

 private:
  void AddPod(int i, int j, double value) {
    kube::Pod pod;
    pod.ns = "shop";
    pod.name = App(i) + "-7d9c5b8f6d-" + std::to_string(j);
    pod.labels = metric::Labels({{"app", App(i)}, {"pod-template-hash", "7d9c5b8f6d"}});
    pod.owner = {App(i) + "-7d9c5b8f6d", "apps", "ReplicaSet"};
    pod.phase = kube::PodPhase::kRunning;
    pod.ready = true;
    pods_.Upsert(pod, clock_);
    keys_.push_back({pod.ns, pod.name});
    streams_.push_back(store_.Open(keys_.back()));
    store::Flush flush;
    flush.values[static_cast<size_t>(kKind)] = metric::Quantity::FromSample(value);
    flushes_.push_back(flush);
  }

  Seams MakeSeams() {
    return {.reader_of = [this](const kube::HpaObject& hpa, size_t,
                                const std::string& pods) -> base::Result<MetricReader> {
              return [this, ns = hpa.ns, selector = *metric::Selector::Parse(pods)](auto done) {
                std::vector<metric::PodKey> keys;
                for (const auto* record : pods_.Select(ns, selector)) {
                  keys.push_back({ns, std::string(record->name)});
                }
                std::vector<metric::PodKey> asked = keys;
                store_.Read(
                    std::move(asked), kKind, [&](const base::Result<store::ReadResult>& result) {
                      MetricReading reading;
                      for (size_t i = 0; i < keys.size(); ++i) {
                        const store::PodReading& found = result->readings[i];
                        reading.answer.by_pod[keys[i].name] = {.value_milli = found.value.milli()};
                        reading.facts.times.push_back(
                            {.pod = keys[i].name, .received = found.received, .busy = true});
                      }
                      done(std::move(reading));
                    });
              };
            },
            .pods_of = [this](std::string_view ns, const metric::Selector& selector)
                -> base::Result<std::vector<TargetPod>> {
              std::vector<TargetPod> found;
              for (const auto* record : pods_.Select(ns, selector)) {
                found.push_back({.pod = {.name = std::string(record->name)},
                                 .ready_since = base::SteadyTime()});
              }
              return found;
            },
            .workload_of = [this](metric::PodKeyView pod) -> std::optional<std::string> {
              const auto* record = pods_.Find(pod);
              return std::string(kube::PodStore::WorkloadOf(*record));
            },
            .acts_for = [](std::string_view) { return true; },
            .watches_fresh = [](std::string_view) { return true; },
            .stepped = [](const kube::HpaObject&, const metric::Selector&) {},
            .broken = [](const kube::HpaObject&) {},
            .post = [this](auto work) { posted_.push_back(std::move(work)); }};
  }

  base::FakeClock clock_;
  telemetry::Registry registry_;
  store::EmbeddedStore store_{
      {.ttl = std::chrono::seconds(20), .max_pods = 100'000}, clock_, registry_};
  kube::PodStore pods_;
  std::vector<metric::PodKey> keys_;
  std::vector<std::unique_ptr<store::PodStream>> streams_;
  std::vector<store::Flush> flushes_;
  std::deque<std::move_only_function<void()>> posted_;
  NoHands hands_;
  Runner runner_{{.mode = Mode::kOn}, MakeSeams(), hands_, clock_, registry_};
};

void ASecond(benchmark::State& state, double value) {
  World world(value);
  for (auto _ : state) world.Second();
  if (world.calls() > 0) state.SkipWithError("something was written");
}
BENCHMARK_CAPTURE(ASecond, Calm, 10.0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ASecond, Busy, 100.0)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace activescale::scaleahead
