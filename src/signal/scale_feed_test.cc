#include "signal/scale_feed.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <boost/json/parse.hpp>

#include "base/testing/fake_clock.h"
#include "base/unix_time.h"
#include "kube/scale_watch.h"
#include "signal/testing/sample_text.h"

namespace activescale::signal {
namespace {

using namespace std::chrono_literals;
using series::Matcher;
using ::testing::HasSubstr;
using ::testing::Not;

class ScaleFeedTest : public testing::Test {
 protected:
  void SetHpa(const std::string& name, int current, int maximum) {
    Take(hpas_, fmt::format(R"({{"metadata":{{"namespace":"shop","name":"{}"}},
        "spec":{{"maxReplicas":{}}},"status":{{"currentReplicas":{},"desiredReplicas":7}}}})",
                            name, maximum, current));
  }
  static void Take(kube::ObjectNumbers& numbers, const std::string& text) {
    numbers.Upsert(boost::json::parse(text).as_object());
  }
  std::string Samples(const std::string& name) {
    const int64_t now = Now();
    const series::Matchers matchers = {*Matcher::Make(Matcher::Op::kEqual, "__name__", name)};
    const auto selection = series_.Select(matchers, now - 60'000, now);
    std::string text;
    for (const auto& series : selection->series) {
      text += fmt::format("{}/{}{}: ", *series->labels().Get("namespace"),
                          series->labels().Get("horizontalpodautoscaler").value_or(""),
                          series->labels().Get("deployment").value_or(""));
      text += SampleText(*series, start_ms_);
    }
    return text;
  }
  [[nodiscard]] int64_t Now() const { return base::UnixMsNow(clock_); }

  base::FakeClock clock_;
  const int64_t start_ms_ = Now();  // a whole number of intervals
  telemetry::Registry registry_;
  kube::ObjectNumbers hpas_{kube::ScaleWatch::HpaFields()};
  kube::ObjectNumbers deployments_{kube::ScaleWatch::DeploymentFields()};
  bool fresh_ = true;
  series::SeriesStore series_{{}, clock_};
  ScaleFeed feed_{{hpas_, deployments_, [this] { return fresh_; }}, series_, clock_, registry_};
};

TEST_F(ScaleFeedTest, SamplesAtWholeIntervalsSoThatAllReplicasAgree) {
  Samples("kube_horizontalpodautoscaler_status_current_replicas");
  Samples("kube_horizontalpodautoscaler_spec_min_replicas");
  Samples("kube_deployment_spec_replicas");
  SetHpa("web", 3, 10);
  Take(deployments_, R"({"metadata":{"namespace":"shop","name":"web"},"spec":{"replicas":4}})");
  clock_.Advance(1200ms);
  feed_.Tick();
  SetHpa("web", 5, 10);
  clock_.Advance(1s);
  feed_.Tick();
  clock_.Advance(3s);
  feed_.Tick();
  EXPECT_EQ(Samples("kube_horizontalpodautoscaler_status_current_replicas"), "shop/web: 3@0 5@5 ");
  EXPECT_EQ(Samples("kube_horizontalpodautoscaler_spec_min_replicas"), "shop/web: 1@0 1@5 ");
  EXPECT_EQ(Samples("kube_deployment_spec_replicas"), "shop/web: 4@0 4@5 ");
  EXPECT_EQ(Samples("kube_horizontalpodautoscaler_spec_max_replicas"), "") << "nobody asked before";
}

TEST_F(ScaleFeedTest, WhatIsGoneEndsAndWhatIsNotKnownHasNoSamples) {
  Samples("kube_horizontalpodautoscaler_status_desired_replicas");
  SetHpa("web", 3, 10);
  feed_.Tick();
  fresh_ = false;
  clock_.Advance(5s);
  feed_.Tick();
  fresh_ = true;
  hpas_.Remove("shop", "web");
  clock_.Advance(5s);
  feed_.Tick();
  EXPECT_EQ(Samples("kube_horizontalpodautoscaler_status_desired_replicas"),
            "shop/web: 7@0 end@10 ");
}

TEST_F(ScaleFeedTest, TellsForHowLongAnHpaIsAtItsMaximum) {
  const auto metrics = [this] { return registry_.Render(); };
  const std::string web =
      R"(activescale_hpa_at_max_seconds{horizontalpodautoscaler="web",namespace="shop"} )";
  SetHpa("web", 10, 10);
  feed_.Tick();
  clock_.Advance(90s);
  feed_.Tick();
  EXPECT_THAT(metrics(), HasSubstr(web + "90"));
  SetHpa("web", 9, 10);
  feed_.Tick();
  EXPECT_THAT(metrics(), HasSubstr(web + "0"));
  SetHpa("web", 10, 10);
  clock_.Advance(30s);
  feed_.Tick();
  EXPECT_THAT(metrics(), HasSubstr(web + "30"));
  SetHpa("api", 1, 10);
  hpas_.Remove("shop", "web");
  feed_.Tick();
  EXPECT_THAT(metrics(), Not(HasSubstr(web))) << "a deleted HPA is not at its maximum for 0 s";
  EXPECT_THAT(metrics(), HasSubstr(R"(horizontalpodautoscaler="api",namespace="shop"} 0)"));
  SetHpa("web", 10, 10);
  feed_.Tick();
  EXPECT_THAT(metrics(), HasSubstr(web + "0")) << "it begins anew";
}

}  // namespace
}  // namespace activescale::signal
