#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/testing/fake_clock.h"
#include "kube/testing/fake_pod_index.h"
#include "metricsapi/api_handler.h"
#include "signal/testing/signal_fixture.h"
#include "store/testing/fake_store.h"

namespace activescale::metricsapi {

/// The whole API over a fake store and a fake pod index. The clock stands still.
struct ApiFixture {
  explicit ApiFixture(AccessControl* access = nullptr)
      : api({custom, health, metrics, clock, access, "v1.2.3"}) {}

  /// Asks in memory; nothing if no answer came at once.
  std::optional<net::HttpResponse> Ask(std::string method, std::string target,
                                       std::vector<net::Header> headers = {}) {
    net::HttpRequest request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.headers = std::move(headers);
    std::optional<net::HttpResponse> answer;
    api.Handle(std::move(request),
               [&answer](net::HttpResponse response) { answer = std::move(response); });
    return answer;
  }

  /// Pods of namespace `shop` with app=web that have telemetry: `count` of them, each with `value`.
  void AddWebPods(int count, double value) {
    for (int i = 0; i < count; ++i) {
      const metric::PodKey pod{"shop", "web-" + std::to_string(i)};
      index.AddPod(pod, {{"app", "web"}});
      store.SetValue(pod, metric::MetricKind::kInboundActiveRequests, value, clock.Now());
    }
  }

  base::FakeClock clock;
  telemetry::Registry registry;
  telemetry::HealthChecks checks;
  kube::FakePodIndex index;
  store::FakeStore store;
  signal::SignalFixture signals{clock, registry};
  CustomMetrics custom{index, store, signals.windows(), clock, registry};
  HealthHandler health{checks, registry};
  RequestMetrics metrics{registry};
  ApiHandler api;
};

}  // namespace activescale::metricsapi
