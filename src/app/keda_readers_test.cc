#include "app/keda_readers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/fake_clock.h"
#include "signal/testing/signal_fixture.h"

namespace activescale::app {
namespace {

using base::Code;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Answers each HPA's metric of one ScaledObject "shop/web" that a test may change.
class KedaReadersTest : public ::testing::Test {
 protected:
  KedaReadersTest() {
    signals_.Set("inflight", {{"namespace", "shop"}, {"pod", "a"}}, 12);
    signals_.Set("inflight", {{"namespace", "shop"}, {"pod", "b"}}, 8.0625);
    signals_.Configure("signals:\n- {name: load, expression: sum(inflight), target: 2.5}\n");
    object_.ns = "shop";
    object_.name = "web";
    object_.triggers = {Trigger({{"query", "sum(inflight)"}, {"threshold", "4"}})};
  }

  static kube::ScaledTrigger Trigger(std::map<std::string, std::string> metadata) {
    metadata.emplace("scalerAddress", "activescale-keda.obs:9091");
    return {.type = "external", .metric_type = {}, .metadata = std::move(metadata)};
  }

  base::Result<scaleahead::MetricReader> ReaderOf(const std::string& name,
                                                  int64_t target_milli = 4000) {
    kube::HpaObject hpa;
    hpa.ns = "shop";
    hpa.spec.metrics = {{hpa::MetricType::kExternal, target_type_, target_milli, name}};
    hpa.sources.resize(1);
    hpa.sources[0].selector = "scaledobject.keda.sh/name=web";
    return readers_.ReaderOf(hpa, 0, *keda::ParseHpaMetric(name, hpa.sources[0].selector));
  }
  scaleahead::MetricReading Read(const std::string& name, int64_t target_milli = 4000) {
    const auto reader = ReaderOf(name, target_milli);
    EXPECT_TRUE(reader) << reader.error().message;
    std::optional<scaleahead::MetricReading> got;
    (*reader)([&got](scaleahead::MetricReading reading) { got = std::move(reading); });
    return got.value();
  }

  base::FakeClock clock_;
  telemetry::Registry registry_;
  signal::SignalFixture signals_{clock_, registry_};
  keda::Scaler scaler_{[this] { return signals_.catalogue(); }, signals_.reader()};
  kube::ScaledObject object_;
  hpa::TargetType target_type_ = hpa::TargetType::kAverageValue;
  base::Result<void> known_;
  KedaReaders readers_{{.scaler = scaler_,
                        .rules = {},
                        .address = {"0.0.0.0", 9091, "activescale", "obs"},
                        .post = [](auto work) { work(); },
                        .find = [this](std::string_view ns,
                                       std::string_view name) -> base::Result<kube::ScaledObject> {
                          if (ns == object_.ns && name == object_.name) return object_;
                          return base::Fail(Code::kUnavailable, "no such object");
                        },
                        .known = [this](std::string_view) { return known_; }}};
};

TEST_F(KedaReadersTest, TheValueIsWhatKedaWouldBeAnswered) {
  object_.triggers.push_back(Trigger({{"signal", "load"}}));
  object_.triggers.push_back({.type = "cpu", .metric_type = {}, .metadata = {}});
  const auto query = Read("s0-query");
  EXPECT_THAT(query.answer.values, ElementsAre(20'062)) << "the even one of two";
  EXPECT_FALSE(query.answer.error);
  EXPECT_TRUE(query.facts.ours);
  EXPECT_THAT(Read("s1-load", 2500).answer.values, ElementsAre(20'062));
}

TEST_F(KedaReadersTest, AMetricThatIsNotOursSaysWhy) {
  struct Case {
    std::string why;
    std::string metric = "s0-query";
    std::function<void(kube::ScaledObject&)> change = [](auto&) {};
    Code code = Code::kInvalidArgument;
  };
  const auto set = [](std::string key, std::string value) {
    return [key = std::move(key), value = std::move(value)](kube::ScaledObject& object) {
      object.triggers[0].metadata[key] = value;
    };
  };
  const Case cases[] = {
      {"one metric of several triggers", "composite-metric"},
      {"\"other.obs:1\" is not", "s0-query", set("scalerAddress", "other.obs:1"), Code::kNotFound},
      {"has no scalerAddress", "s0-query",
       [](auto& object) { object.triggers[0].metadata.erase("scalerAddress"); }, Code::kNotFound},
      {"of type prometheus", "s0-query",
       [](auto& object) { object.triggers[0].type = "prometheus"; }},
      {"cannot be read", "s0-query", [](auto& object) { object.triggers[0] = {}; }},
      {"useCachedMetrics", "s0-query", [](auto& object) { object.triggers[0].cached = true; }},
      {"a fallback", "s0-query", [](auto& object) { object.has_fallback = true; }},
      {"scalingModifiers", "s0-query", [](auto& object) { object.has_modifiers = true; }},
      {"threshold \"x\"", "s0-query", set("threshold", "x")},
      {"query: ", "s0-query", set("query", "sum(")},
      {"either signal", "s0-query", set("query", "")},
      // KEDA has not written the HPA anew yet: it is asked again.
      {"no trigger 1", "s1-query", [](auto&) {}, Code::kUnavailable},
      {"no trigger 0", "s0-query", [](auto& object) { object.triggers.clear(); },
       Code::kUnavailable},
      {"of trigger 0 yet", "s0-other", [](auto&) {}, Code::kUnavailable},
      {"of trigger 0 yet", "s0-query", set("metricName", "other"), Code::kUnavailable},
      {"of trigger 0 yet", "s0-query",
       [](auto& object) { object.triggers[0].metric_type = "Value"; }, Code::kUnavailable},
      {"no such object", "s0-query", [](auto& object) { object.name = "api"; }, Code::kUnavailable},
  };
  for (const Case& c : cases) {
    const kube::ScaledObject before = object_;
    c.change(object_);
    const auto reader = ReaderOf(c.metric);
    object_ = before;
    ASSERT_FALSE(reader) << c.why;
    EXPECT_EQ(reader.error().code, c.code) << reader.error().message;
    EXPECT_THAT(reader.error().message, HasSubstr(c.why));
  }
}

TEST_F(KedaReadersTest, ByValueIsOursWhereTheTriggerSaysSo) {
  object_.triggers[0].metric_type = "Value";
  EXPECT_FALSE(ReaderOf("s0-query"));
  target_type_ = hpa::TargetType::kValue;
  EXPECT_TRUE(ReaderOf("s0-query"));
}

TEST_F(KedaReadersTest, TheTargetIsComparedAsKedaWritesIt) {
  object_.triggers[0].metadata["threshold"] = "0.0625";
  EXPECT_FALSE(Read("s0-query", 62).answer.error);
  EXPECT_TRUE(Read("s0-query", 63).answer.error);
}

TEST_F(KedaReadersTest, NoValueIsNeverZero) {
  EXPECT_THAT(Read("s0-query", 5000).answer.error.value_or(""), HasSubstr("target"))
      << "the threshold was changed, and the HPA not yet";
  object_.triggers[0] = Trigger({{"query", "sum(nothing)"}, {"threshold", "4"}});
  EXPECT_THAT(Read("s0-query").answer.error.value_or(""), HasSubstr("no value"));
  object_.triggers[0] = Trigger({{"query", "inflight"}, {"threshold", "4"}});
  EXPECT_THAT(Read("s0-query").answer.error.value_or(""), HasSubstr("2 series"));
  object_.triggers[0] = Trigger({{"signal", "gone"}});
  EXPECT_THAT(Read("s0-gone").answer.error.value_or(""), HasSubstr("gone"));
  known_ = base::Fail(Code::kUnavailable, "out of contact");
  EXPECT_THAT(Read("s0-gone").answer.error.value_or(""), HasSubstr("out of contact"));
  EXPECT_THAT(Read("s0-gone").answer.values, IsEmpty());
}

TEST_F(KedaReadersTest, AZeroIsAsTheUserSaid) {
  object_.triggers[0] =
      Trigger({{"query", "sum(nothing)"}, {"threshold", "4"}, {"ignoreNullValues", "true"}});
  EXPECT_THAT(Read("s0-query").answer.values, ElementsAre(0));
}

}  // namespace
}  // namespace activescale::app
