#include "keda/hpa_metric.h"

#include <gtest/gtest.h>

#include <string>

namespace activescale::keda {
namespace {

constexpr std::string_view kWeb = "scaledobject.keda.sh/name=web";

TEST(HpaMetricTest, NamesATriggerOfAScaledObject) {
  struct Case {
    std::string name;
    std::string selector;
    std::optional<HpaMetric> want;
  };
  const auto of = [](std::optional<size_t> trigger, std::string name) {
    return HpaMetric{.object = "web", .trigger = trigger, .name = std::move(name)};
  };
  const std::string web(kWeb);
  const Case cases[] = {
      {"s0-query", web, of(0, "query")},
      {"s1-query", web, of(1, "query")},
      {"s12-web-in-flight", web, of(12, "web-in-flight")},
      {"s0-", web, of(0, "")},
      {"composite-metric", web, of({}, "composite-metric")},
      {"s-query", web, of({}, "s-query")},
      {"s01-query", web, of({}, "s01-query")},
      {"s+1-query", web, of({}, "s+1-query")},
      {"s1x-query", web, of({}, "s1x-query")},
      {"s1", web, of({}, "s1")},
      {"", web, of({}, "")},
      {"s99999999999999999999-query", web, of({}, "s99999999999999999999-query")},
      {"s0-query", "", std::nullopt},
      {"s0-query", "app=web", std::nullopt},
      {"s0-query", "scaledobject.keda.sh/name=", std::nullopt},
      {"s0-query", "scaledobject.keda.sh/name", std::nullopt},
      {"s0-query", web + ",app=web", std::nullopt},
      {"s0-query", "scaledobject.keda.sh/name in (web)", std::nullopt},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(ParseHpaMetric(c.name, c.selector), c.want) << c.name << " " << c.selector;
  }
}

TEST(ScalerAddressTest, IsOursByTheListenAddressOrByOurService) {
  const ScalerAddress in_cluster{"0.0.0.0", 9091, "activescale", "obs"};
  const ScalerAddress beside{"127.0.0.1", 9091, "activescale", ""};
  const ScalerAddress six{"::1", 9091, "activescale", ""};
  const ScalerAddress closed{"", 0, "activescale", "obs"};
  struct Case {
    std::string address;
    const ScalerAddress& ours;
    bool want;
  };
  const Case cases[] = {
      {"activescale-keda.obs:9091", in_cluster, true},
      {"activescale.obs:443", in_cluster, true},
      {"activescale-keda.obs", in_cluster, true},
      {"activescale-keda.obs.svc:9091", in_cluster, true},
      {"activescale-keda.obs.svc.cluster.local:9091", in_cluster, true},
      {"Activescale-Keda.obs.svc.cluster.local.:9091", in_cluster, true},
      {"dns:///activescale-keda.obs:9091", in_cluster, true},
      {"activescale-keda:9091", in_cluster, false},
      {"activescale-keda.other:9091", in_cluster, false},
      {"activescale-keda.obs.example.com:9091", in_cluster, false},
      {"other.obs:9091", in_cluster, false},
      {"activescale-grpc.obs:9091", in_cluster, false},
      {"xactivescale-keda.obs:9091", in_cluster, false},
      {"127.0.0.1:9091", in_cluster, false},
      {"dns://resolver/activescale-keda.obs:9091", in_cluster, false},
      {"", in_cluster, false},
      {".", in_cluster, false},
      {":9091", in_cluster, false},
      {"127.0.0.1:9091", beside, true},
      {"127.0.0.1:9092", beside, false},
      {"127.0.0.1", beside, false},
      {"activescale-keda.obs:9091", beside, false},
      {"activescale-keda.:9091", beside, false},
      {"[::1]:9091", six, true},
      {"::1:9091", six, false},
      {"activescale-keda.obs:9091", closed, false},
      {":0", closed, false},
  };
  for (const Case& c : cases) EXPECT_EQ(IsOurs(c.address, c.ours), c.want) << c.address;
}

}  // namespace
}  // namespace activescale::keda
