#include "kube/scaled_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <boost/json/parse.hpp>

#include "kube/scaled_object_watch.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/loop_thread.h"

namespace activescale::kube {
namespace {

using base::Code;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

ScaledObject Read(const std::string& spec) {
  return ReadScaledObject(
      boost::json::parse(ObjectJson("shop", "web", "", "\"spec\":" + spec)).as_object());
}

TEST(ScaledObjectTest, ReadsTriggersInTheirOrder) {
  const ScaledObject object = Read(R"({"triggers":[
      {"type":"cpu","metadata":{"value":"50"}},
      {"type":"external","metadata":{"scalerAddress":"a:1","query":"x","threshold":"4"}},
      {"type":"external-push","metricType":"Value","useCachedMetrics":true,
       "metadata":{"signal":"load"},"authenticationRef":{"name":"tls"}}]})");
  const ScaledObject want = {
      .ns = "shop",
      .name = "web",
      .triggers = {
          {.type = "cpu", .metric_type = {}, .metadata = {}},
          {.type = "external",
           .metric_type = {},
           .metadata = {{"scalerAddress", "a:1"}, {"query", "x"}, {"threshold", "4"}}},
          {.type = "external-push",
           .metric_type = "Value",
           .cached = true,
           .metadata = {{"signal", "load"}}},
      }};
  EXPECT_EQ(object, want);
}

TEST(ScaledObjectTest, WhatIsNoTriggerKeepsItsPlace) {
  const std::string whole = R"({"type":"external","metadata":{"signal":"load"}})";
  for (const std::string broken : {
           R"(7)",
           R"(null)",
           R"([])",
           R"({})",
           R"({"type":7,"metadata":{}})",
           R"({"type":"external"})",
           R"({"type":"external","metadata":[]})",
           R"({"type":"external","metadata":{"query":"x","namespace":7}})",
           R"({"type":"external","metadata":{"query":{"a":"b"}}})",
       }) {
    const ScaledObject object = Read(R"({"triggers":[)" + broken + "," + whole + "]}");
    ASSERT_THAT(object.triggers, SizeIs(2)) << broken;
    EXPECT_EQ(object.triggers[0], ScaledTrigger()) << broken;
    EXPECT_EQ(object.triggers[1].metadata.at("signal"), "load") << broken;
  }
}

TEST(ScaledObjectTest, WithoutAListThereAreNoTriggers) {
  for (const char* spec : {"{}", "null", "[]", R"("x")", R"({"triggers":null})",
                           R"({"triggers":{"0":{"type":"external"}}})", R"({"triggers":[]})"}) {
    EXPECT_THAT(Read(spec).triggers, IsEmpty()) << spec;
  }
}

TEST(ScaledObjectTest, WhatKedaMakesOfValuesIsNoted) {
  struct Case {
    std::string spec;
    bool fallback;
    bool modifiers;
  };
  const Case cases[] = {
      {"{}", false, false},
      {R"({"fallback":null,"advanced":null})", false, false},
      {R"({"fallback":{"failureThreshold":3,"replicas":6}})", true, false},
      {R"({"advanced":{"scalingModifiers":{}}})", false, false},
      {R"({"advanced":{"scalingModifiers":{"formula":"a + b","target":"2"}}})", false, true},
      {R"({"advanced":{"horizontalPodAutoscalerConfig":{}}})", false, false},
      {R"({"fallback":7,"advanced":{"scalingModifiers":"?"}})", true, true},
  };
  for (const Case& c : cases) {
    const ScaledObject object = Read(c.spec);
    EXPECT_EQ(object.has_fallback, c.fallback) << c.spec;
    EXPECT_EQ(object.has_modifiers, c.modifiers) << c.spec;
  }
}

constexpr const char* kPath = "/apis/keda.sh/v1alpha1/scaledobjects";

class ScaledObjectWatchTest : public ::testing::Test {
 protected:
  ~ScaledObjectWatchTest() override { loop_.Stop(); }

  void Make(const std::vector<std::string>& namespaces) {
    watch_ = std::make_unique<ScaledObjectWatch>(
        WatchGroup::Context{.api = api_,
                            .registry = registry_,
                            .clock = clock_,
                            .random = [] { return 0.5; },
                            .watcher = {}},
        namespaces, [this](const std::string& ns) { changes_.Add(ns); },
        ScaledObjectWatch::Options{.retry = milliseconds(2), .retry_no_answer = milliseconds(1)});
    watch_->Start();
  }

  static std::string Object(std::string_view name, std::string_view type, std::string_view rest) {
    return ObjectJson(
        "shop", name, "",
        R"("spec":{"triggers":[{"type":")" + std::string(type) + R"("}]})" + std::string(rest));
  }
  bool Lists(const std::string& path, size_t times) {
    return Eventually([&] { return server_.Requests("LIST " + path).size() >= times; });
  }
  bool Fails(Code code) {
    return Eventually([&] {
      const auto known = watch_->Check("shop");
      return !known && known.error().code == code;
    });
  }

  /// Namespaces that were told as changed.
  class Changes {
   public:
    void Add(const std::string& ns) {
      const base::MutexLock lock(mutex_);
      all_.push_back(ns);
    }
    std::vector<std::string> all() const {
      const base::MutexLock lock(mutex_);
      return all_;
    }

   private:
    mutable base::Mutex mutex_;
    std::vector<std::string> all_ GUARDED_BY(mutex_);
  };

  base::SystemClock clock_;
  telemetry::Registry registry_;
  Changes changes_;
  FakeApiServer server_;
  LoopThread loop_;
  ApiClient api_{loop_.http(), server_.access(), clock_};
  std::unique_ptr<ScaledObjectWatch> watch_;
};

TEST_F(ScaledObjectWatchTest, ACrdThatComesLaterIsFoundAndChangesAreToldOnce) {
  const std::string list = std::string("LIST ") + kPath;
  server_.On(list, Respond(404, "404 page not found\n"));
  server_.On(list, Respond(503, StatusJson(503, "ServiceUnavailable", "starting")));
  server_.On(list, Respond(404, StatusJson(404, "NotFound", "no such resource")));
  server_.On(list, Respond(200, ListJson({Object("web", "cpu", "")}, "5")));
  server_.On(std::string("WATCH ") + kPath,
             WatchAndHang({EventJson("MODIFIED", Object("web", "cpu", R"(,"status":{"x":1})")),
                           EventJson("MODIFIED", Object("web", "cron", "")),
                           EventJson("ADDED", Object("api", "cpu", "")),
                           EventJson("DELETED", Object("api", "cpu", ""))}));
  Make({});
  ASSERT_TRUE(Eventually([&] { return changes_.all().size() >= 4; }));
  EXPECT_THAT(changes_.all(), SizeIs(4)) << "one of them is of the status alone";
  const auto web = watch_->Find("shop", "web");
  ASSERT_TRUE(web) << web.error().message;
  EXPECT_EQ(web->triggers[0].type, "cron");
  EXPECT_EQ(watch_->Find("shop", "api").error().code, Code::kUnavailable);
  EXPECT_THAT(registry_.Render(), HasSubstr(R"(failures_total{reason="status",)"
                                            R"(resource="scaledobjects"} 0)"))
      << "that there is no KEDA is no failure";
  loop_.Stop();
}

TEST_F(ScaledObjectWatchTest, WithoutACrdItIsSaidAndAskedAgain) {
  server_.On(std::string("LIST ") + kPath, Respond(404, "404 page not found\n"));
  Make({});
  ASSERT_TRUE(Lists(kPath, 3));
  ASSERT_TRUE(Fails(Code::kNotFound));
  EXPECT_EQ(watch_->Find("shop", "web").error().code, Code::kNotFound);
  EXPECT_THAT(registry_.Render(), Not(HasSubstr("scaledobjects"))) << "nothing is a fault";
  loop_.Stop();
}

TEST_F(ScaledObjectWatchTest, ARightThatIsMissingInOneNamespaceIsNamed) {
  const std::string shop = "/apis/keda.sh/v1alpha1/namespaces/shop/scaledobjects";
  const std::string web = "/apis/keda.sh/v1alpha1/namespaces/web/scaledobjects";
  server_.On("LIST " + shop, Respond(200, ListJson({}, "5")));
  server_.On("LIST " + web,
             Respond(403, StatusJson(403, "Forbidden", "cannot list in the namespace web")));
  Make({"shop", "web"});
  ASSERT_TRUE(Lists(web, 2));
  ASSERT_TRUE(Fails(Code::kPermissionDenied));
  const std::string text = watch_->Check("shop").error().message;
  EXPECT_THAT(text, HasSubstr("list and watch scaledobjects of keda.sh"));
  EXPECT_THAT(text, HasSubstr("namespace web"));
  EXPECT_THAT(changes_.all(), IsEmpty());
  loop_.Stop();
}

}  // namespace
}  // namespace activescale::kube
