#include "kube/endpoint_watch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "kube/testing/fake_api_server.h"
#include "kube/testing/loop_thread.h"

namespace activescale::kube {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kListSlices = "LIST /apis/discovery.k8s.io/v1/endpointslices";
constexpr const char* kWatchSlices = "WATCH /apis/discovery.k8s.io/v1/endpointslices";

/// Endpoints as "address=pod", at a port of the name "http" and one of the name "grpc".
std::string Slice(const std::string& name, const std::string& service, const std::string& family,
                  int port, const std::vector<std::pair<std::string, std::string>>& endpoints) {
  std::string list;
  for (const auto& [address, pod] : endpoints) {
    const std::string target =
        pod.empty() ? "" : fmt::format(R"(,"targetRef":{{"kind":"Pod","name":"{}"}})", pod);
    list += fmt::format(R"({}{{"addresses":["{}"],"conditions":{{"ready":false}}{}}})",
                        list.empty() ? "" : ",", address, target);
  }
  return ObjectJson(
      "loki", name,
      fmt::format(R"("labels":{{"app":"loki","kubernetes.io/service-name":"{}"}})", service),
      fmt::format(R"("addressType":"{}","ports":[{{"name":"dns","port":{},"protocol":"UDP"}},
          {{"name":"http","port":{},"protocol":"TCP"}},{{"name":"grpc","port":9095}},
          {{"name":"any","port":null}}],"endpoints":[{}])",
                  family, port, port, list));
}

class EndpointWatchTest : public ::testing::Test {
 protected:
  ~EndpointWatchTest() override { loop_.Stop(); }

  void Listed(const std::vector<std::string>& slices, const std::vector<std::string>& events = {}) {
    server_.On(kListSlices, Respond(200, ListJson(slices, "5")));
    server_.On(kWatchSlices, WatchAndHang(events));
  }
  /// Asks until `enough` of the answer, a line for each endpoint.
  std::vector<std::string> Find(const std::string& selector, const std::string& port,
                                const std::function<bool(size_t)>& enough) {
    const auto parsed = *metric::Selector::Parse(selector);
    std::vector<std::string> lines;
    for (int i = 0; i < 1000; ++i) {
      const auto found = watch_.Find("loki", parsed, port);
      lines.clear();
      if (found) {
        for (const ServiceEndpoint& at : *found) {
          lines.push_back(fmt::format("{} {} {}:{}", at.service, at.pod, at.host, at.port));
        }
        if (enough(lines.size())) break;
      }
      std::this_thread::sleep_for(milliseconds(5));
    }
    return lines;
  }
  std::vector<std::string> Find(const std::string& selector, const std::string& port) {
    return Find(selector, port, [](size_t) { return true; });
  }

  base::SystemClock clock_;
  telemetry::Registry registry_;
  FakeApiServer server_;
  LoopThread loop_;
  ApiClient api_{loop_.http(), server_.access(), clock_};
  EndpointWatch watch_{{.api = api_,
                        .registry = registry_,
                        .clock = clock_,
                        .random = [] { return 0.5; },
                        .watcher = {}},
                       {}};
};

TEST_F(EndpointWatchTest, FindsThePortOfAServiceByNameOrNumberWhateverIsReady) {
  Listed({Slice("a-1", "a", "IPv4", 3100, {{"10.0.0.1", "a-0"}, {"10.0.0.2", "a-1"}}),
          Slice("b-1", "b", "IPv4", 8080, {{"10.0.0.3", ""}})});
  const std::string a = "kubernetes.io/service-name=a";
  EXPECT_THAT(Find(a, "http"), ElementsAre("a a-0 10.0.0.1:3100", "a a-1 10.0.0.2:3100"));
  EXPECT_THAT(Find(a, "3100"), ElementsAre("a a-0 10.0.0.1:3100", "a a-1 10.0.0.2:3100"));
  EXPECT_THAT(Find("app=loki", "grpc"),
              ElementsAre("a a-0 10.0.0.1:9095", "a a-1 10.0.0.2:9095", "b  10.0.0.3:9095"));
  EXPECT_THAT(Find(a, "8080"), IsEmpty());
  EXPECT_THAT(Find(a, "dns"), IsEmpty()) << "no TCP";
  EXPECT_THAT(Find(a, "any"), IsEmpty()) << "no number";
  EXPECT_THAT(Find("app=other", "http"), IsEmpty());
}

TEST_F(EndpointWatchTest, APodOfBothFamiliesIsThereOnce) {
  Listed({Slice("a-6", "a", "IPv6", 80, {{"fd00::1", "a-0"}, {"fd00::2", "a-1"}}),
          Slice("a-9", "a", "IPv4", 80, {{"10.0.0.1", "a-0"}})});
  EXPECT_THAT(Find("app=loki", "http"), ElementsAre("a a-0 10.0.0.1:80", "a a-1 fd00::2:80"));
}

TEST_F(EndpointWatchTest, FollowsTheSlicesAndAsksNothingBeforeTheFirstQuestion) {
  const std::string before = Slice("a-1", "a", "IPv4", 80, {{"10.0.0.1", "a-0"}});
  Listed({before}, {EventJson("ADDED", Slice("a-2", "a", "IPv4", 80, {{"10.0.0.2", "a-1"}})),
                    EventJson("DELETED", before)});
  EXPECT_EQ(server_.connections(), 0);
  const auto early = watch_.Find("loki", {}, "http");
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, base::Code::kUnavailable);
  EXPECT_THAT(early.error().message, HasSubstr("endpointslices"));
  int looks = 0;
  EXPECT_THAT(
      Find("app=loki", "http", [&looks](size_t count) { return count == 1 && ++looks > 20; }),
      ElementsAre("a a-1 10.0.0.2:80"));
}

}  // namespace
}  // namespace activescale::kube
