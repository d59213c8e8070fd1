#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include <boost/json/parse.hpp>

#include "kube/delegated_auth_config_watch.h"
#include "kube/replica_watch.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/loop_thread.h"

namespace activescale::kube {
namespace {

using base::Code;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kListMaps = "LIST /api/v1/namespaces/kube-system/configmaps";
constexpr const char* kWatchMaps = "WATCH /api/v1/namespaces/kube-system/configmaps";

std::string ConfigMap(std::string_view data) {
  return ObjectJson("kube-system", "extension-apiserver-authentication", "",
                    "\"data\":{" + std::string(data) + "}");
}

TEST(DelegatedAuthConfigTest, ReadsTheConfigMap) {
  const auto json = boost::json::parse(ConfigMap(
      R"("client-ca-file":"CA1","requestheader-client-ca-file":"CA2",
         "requestheader-username-headers":"[\"X-Remote-User\"]",
         "requestheader-group-headers":"[\"X-Remote-Group\", \"X-G\"]",
         "requestheader-extra-headers-prefix":"[\"X-Remote-Extra-\"]",
         "requestheader-uid-headers":"null",
         "requestheader-allowed-names":"[]")"));
  const auto config = ParseDelegatedAuthConfig(json.as_object());
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(*config, (DelegatedAuthConfig{.client_ca_pem = "CA1",
                                          .request_header_ca_pem = "CA2",
                                          .username_headers = {"X-Remote-User"},
                                          .group_headers = {"X-Remote-Group", "X-G"},
                                          .extra_header_prefixes = {"X-Remote-Extra-"},
                                          .uid_headers = {},
                                          .allowed_names = {}}));
}

TEST(DelegatedAuthConfigTest, WithoutKeysItIsEmptyAndWithBrokenOnesRefused) {
  const auto empty = ParseDelegatedAuthConfig(boost::json::parse(ConfigMap("")).as_object());
  ASSERT_TRUE(empty);
  EXPECT_EQ(*empty, DelegatedAuthConfig());
  EXPECT_TRUE(ParseDelegatedAuthConfig({}));
  for (const char* value : {R"("front-proxy-client")", R"("[\"a\"")", R"("{}")", R"("[1]")", "7"}) {
    const auto config = ParseDelegatedAuthConfig(
        boost::json::parse(ConfigMap("\"requestheader-allowed-names\":" + std::string(value)))
            .as_object());
    ASSERT_FALSE(config) << value;
    EXPECT_THAT(config.error().message, HasSubstr("requestheader-allowed-names")) << value;
  }
}

class SmallWatchesTest : public ::testing::Test {
 protected:
  ~SmallWatchesTest() override { loop_.Stop(); }

  Watcher::Options Options() {
    Watcher::Options options;
    options.list_watch.backoff_min = milliseconds(2);
    options.list_watch.backoff_max = milliseconds(10);
    return options;
  }

  base::SystemClock clock_;
  telemetry::Registry registry_;
  FakeApiServer server_;
  LoopThread loop_;
  ApiClient api_{loop_.http(), server_.access(), clock_};
};

TEST_F(SmallWatchesTest, ARotatedCaIsTakenUpAndABrokenConfigMapKeepsTheLast) {
  server_.On(kListMaps,
             Respond(200, ListJson({ConfigMap(R"("requestheader-client-ca-file":"old")")}, "5")));
  server_.On(
      kWatchMaps,
      WatchAndHang({EventJson("MODIFIED", ConfigMap(R"("client-ca-file":"x",)"
                                                    R"("requestheader-client-ca-file":"new")")),
                    EventJson("MODIFIED", ConfigMap(R"("requestheader-allowed-names":"?")")),
                    EventJson("DELETED", ConfigMap(""))}));
  DelegatedAuthConfigWatch watch({.api = api_,
                                  .registry = registry_,
                                  .clock = clock_,
                                  .random = [] { return 0.5; },
                                  .watcher = Options()});
  EXPECT_EQ(watch.Get(), nullptr);
  EXPECT_FALSE(watch.Health().ok);
  watch.Start();
  ASSERT_TRUE(Eventually([&] {
    return watch.Health().ok && watch.Health().reason.find("allowed-names") != std::string::npos;
  }));
  EXPECT_EQ(watch.Get()->request_header_ca_pem, "new");
  EXPECT_THAT(registry_.Render(), HasSubstr("activescale_kube_auth_configs_refused_total 1"));
  EXPECT_THAT(server_.Requests(kListMaps)[0].target,
              HasSubstr("fieldSelector=metadata.name%3Dextension-apiserver-authentication"));
  loop_.Stop();
}

TEST_F(SmallWatchesTest, AForbiddenOrAbsentConfigMapSaysSo) {
  server_.On(kListMaps, Respond(403, StatusJson(403, "Forbidden", "no configmaps")));
  server_.On(kListMaps, Respond(200, ListJson({}, "5")));
  server_.On(kWatchMaps, WatchAndHang({}));
  DelegatedAuthConfigWatch watch({.api = api_,
                                  .registry = registry_,
                                  .clock = clock_,
                                  .random = [] { return 0.5; },
                                  .watcher = Options()});
  watch.Start();
  EXPECT_TRUE(Eventually([&] {
    return watch.Health().reason.find("there is no ConfigMap") != std::string::npos;
  })) << watch.Health().reason;
  EXPECT_FALSE(watch.Health().ok);
  loop_.Stop();
}

TEST_F(SmallWatchesTest, ReadyReplicasAreThoseOfAllSlicesByName) {
  const auto slice = [](std::string_view name, std::string_view endpoints) {
    return ObjectJson("obs", name, "", "\"endpoints\":" + std::string(endpoints));
  };
  server_.On("LIST /apis/discovery.k8s.io/v1/namespaces/obs/endpointslices",
             Respond(200, ListJson({slice("s1", R"([
        {"conditions":{"ready":true},"targetRef":{"kind":"Pod","name":"b"}},
        {"conditions":{"ready":false},"targetRef":{"name":"c"}},
        {"targetRef":{"name":"d"}}, {"conditions":{"ready":true}}, 7])"),
                                    slice("s2", R"([{"targetRef":{"name":"a"}},
                                                    {"targetRef":{"name":"b"}}])"),
                                    slice("s3", "null")},
                                   "5")));
  server_.On("WATCH /apis/discovery.k8s.io/v1/namespaces/obs/endpointslices",
             WatchAndHang({EventJson("DELETED", slice("s2", "[]"))}));
  ReplicaWatch watch({.api = api_,
                      .registry = registry_,
                      .clock = clock_,
                      .random = [] { return 0.5; },
                      .watcher = Options()},
                     "obs", "activescale");
  EXPECT_EQ(watch.ReadyPods().error().code, Code::kUnavailable);
  watch.Start();
  ASSERT_TRUE(Eventually([&] {
    const auto pods = watch.ReadyPods();
    return pods && *pods == std::vector<std::string>{"b", "d"};
  }));
  EXPECT_THAT(
      server_.Requests("LIST /apis/discovery.k8s.io/v1/namespaces/obs/endpointslices")[0].target,
      HasSubstr("labelSelector=kubernetes.io%2Fservice-name%3Dactivescale"));
  loop_.Stop();
}

}  // namespace
}  // namespace activescale::kube
