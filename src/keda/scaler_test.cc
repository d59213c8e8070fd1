#include "keda/scaler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/testing/fake_clock.h"
#include "signal/testing/signal_fixture.h"

namespace activescale::keda {
namespace {

using base::Code;
using testing::HasSubstr;
using Metadata = std::map<std::string, std::string>;

class ScalerTest : public testing::Test {
 protected:
  ScalerTest() {
    signals_.Set("inflight", {{"namespace", "shop"}, {"pod", "a"}}, 12);
    signals_.Set("inflight", {{"namespace", "shop"}, {"pod", "b"}}, 8);
    signals_.Set("inflight", {{"namespace", "other"}, {"pod", "c"}}, 100);
    signals_.Configure(R"(signals:
- {name: Load, namespace: shop, expression: 'sum(inflight{namespace="shop"})', target: 4}
- {name: lazy, expression: sum(inflight), target: 2.5, activation: 120}
- {name: absent, expression: sum(nothing), target: 4}
- {name: rescued, expression: sum(nothing), target: 4, fallback: 9}
)");
  }
  static base::Result<Trigger> Parse(const Metadata& metadata, const TriggerRules& rules = {}) {
    return ParseTrigger({"shop", "web", metadata}, rules);
  }
  base::Result<double> Value(const Metadata& metadata) {
    const auto trigger = Parse(metadata);
    EXPECT_TRUE(trigger) << trigger.error().message;
    return scaler_.ValueOf(*trigger);
  }
  base::Result<bool> IsActive(const Metadata& metadata) {
    const auto trigger = Parse(metadata);
    EXPECT_TRUE(trigger) << trigger.error().message;
    return scaler_.IsActive(*trigger);
  }

  base::FakeClock clock_;
  telemetry::Registry registry_;
  signal::SignalFixture signals_{clock_, registry_};
  Scaler scaler_{[this] { return signals_.catalogue(); }, signals_.reader()};
};

TEST_F(ScalerTest, ASignalOrAQueryGivesTheValue) {
  EXPECT_EQ(Value({{"signal", "load"}}), 20);
  EXPECT_EQ(Value({{"signal", "rescued"}}), 9);
  EXPECT_EQ(Value({{"query", "sum(inflight)"}, {"threshold", "4"}}), 120);
  EXPECT_EQ(Value({{"query", "sum(inflight)"}, {"threshold", "4"}, {"namespace", "shop"}}), 20);
  EXPECT_EQ(Value({{"query", "vector(0.25)"}, {"threshold", "4"}}), 0.25);
}

TEST_F(ScalerTest, KedasOwnKeysAreNotOurs) {
  EXPECT_TRUE(Parse({{"signal", "load"},
                     {"scalerAddress", "activescale-keda.observability:9091"},
                     {"enableTLS", "true"},
                     {"unsafeSsl", "false"},
                     {"caCert", "PEM"},
                     {"passwordFromEnv", "x"}}));
}

// Case D1: a ScaledObject made while there is no data must get its HPA.
TEST_F(ScalerTest, TheSpecNeedsNoData) {
  signals_.Break("the store is away");
  const struct {
    Metadata metadata;
    std::string name;
    double target;
  } cases[] = {
      {{{"signal", "Load"}}, "load", 4},
      {{{"signal", "load"}, {"threshold", "6"}}, "load", 6},
      {{{"signal", "lazy"}, {"metricName", "My.Metric:x"}}, "my-metric-x", 2.5},
      {{{"signal", "unknown"}, {"threshold", "6"}}, "unknown", 6},
      {{{"query", "sum(inflight)"}, {"threshold", "0.5"}}, "query", 0.5},
  };
  for (const auto& c : cases) {
    const auto trigger = Parse(c.metadata);
    ASSERT_TRUE(trigger) << trigger.error().message;
    const auto spec = scaler_.SpecOf(*trigger);
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->metric_name, c.name);
    EXPECT_EQ(spec->target, c.target);
  }
  EXPECT_EQ(scaler_.SpecOf(*Parse({{"signal", "unknown"}})).error().code, Code::kNotFound);
}

TEST_F(ScalerTest, ATriggerThatCannotBeMeantIsRefusedByItsKey) {
  const struct {
    Metadata metadata;
    std::string want;
  } cases[] = {
      {{}, "either signal"},
      {{{"signal", "load"}, {"query", "x"}, {"threshold", "1"}}, "either signal"},
      {{{"query", "sum(inflight)"}}, "threshold"},
      {{{"query", "sum(inflight)"}, {"threshold", "0"}}, "threshold"},
      {{{"query", "sum(inflight)"}, {"threshold", "-1"}}, "threshold \"-1\" is not a number"},
      {{{"query", "sum(inflight)"}, {"threshold", "four"}}, "threshold \"four\" is not a number"},
      {{{"query", "sum(inflight"}, {"threshold", "1"}}, "query: 1:"},
      {{{"query", "inflight[5m]"}, {"threshold", "1"}}, "query gives a matrix"},
      {{{"signal", "load"}, {"activationThreshold", "NaN"}}, "activationThreshold \"NaN\""},
      {{{"signal", "load"}, {"ignoreNullValues", "yes"}}, "ignoreNullValues \"yes\""},
      {{{"signal", "load"}, {"namespace", "other"}}, "namespace goes with query"},
  };
  for (const auto& c : cases) {
    const auto trigger = Parse(c.metadata);
    ASSERT_FALSE(trigger) << c.want;
    EXPECT_EQ(trigger.error().code, Code::kInvalidArgument);
    EXPECT_THAT(trigger.error().message, HasSubstr(c.want));
  }
}

// Case D6: at the threshold a workload is still at rest.
TEST_F(ScalerTest, IsActiveStrictlyAboveTheThreshold) {
  const auto query = [&](const std::string& value, const std::string& activation) {
    return IsActive({{"query", "vector(" + value + ")"},
                     {"threshold", "4"},
                     {"activationThreshold", activation}});
  };
  EXPECT_EQ(query("0", ""), false);
  EXPECT_EQ(query("0.001", ""), true);
  EXPECT_EQ(query("5", "5"), false);
  EXPECT_EQ(query("5.001", "5"), true);
  EXPECT_EQ(IsActive({{"signal", "lazy"}}), false);
  EXPECT_EQ(IsActive({{"signal", "lazy"}, {"activationThreshold", "119"}}), true);
}

TEST_F(ScalerTest, MissingIsAnErrorUnlessTheUserSaysThatItIsZero) {
  for (const Metadata& metadata :
       {Metadata{{"signal", "absent"}}, Metadata{{"query", "sum(nothing)"}, {"threshold", "1"}}}) {
    EXPECT_EQ(Value(metadata).error().code, Code::kNotFound);
    EXPECT_EQ(IsActive(metadata).error().code, Code::kNotFound);
    Metadata ignoring = metadata;
    ignoring["ignoreNullValues"] = "true";
    EXPECT_EQ(Value(ignoring), 0);
    EXPECT_EQ(IsActive(ignoring), false);
  }
  EXPECT_FALSE(Value({{"signal", "unknown"}, {"ignoreNullValues", "true"}}));
  EXPECT_THAT(Value({{"query", "inflight"}, {"threshold", "1"}}).error().message,
              HasSubstr("gives 3 series"));
}

// Case B5: an outage is not an empty queue, whatever the user says of missing values.
TEST_F(ScalerTest, AnOutageIsNeverZero) {
  signals_.Break("the store is away");
  for (const std::string ignore : {"true", "false"}) {
    const Metadata metadata{
        {"query", "sum(inflight)"}, {"threshold", "1"}, {"ignoreNullValues", ignore}};
    EXPECT_EQ(Value(metadata).error().code, Code::kUnavailable);
    EXPECT_EQ(IsActive(metadata).error().code, Code::kUnavailable);
  }
}

TEST_F(ScalerTest, TenantsSeeTheirNamespaceAlone) {
  const TriggerRules rules{.dialect = promql::Dialect::kPrometheus3, .tenant_queries = true};
  const auto own = Parse({{"query", "sum(inflight)"}, {"threshold", "1"}}, rules);
  ASSERT_TRUE(own);
  EXPECT_EQ(scaler_.ValueOf(*own), 20);
  const auto other =
      Parse({{"query", "sum(inflight)"}, {"threshold", "1"}, {"namespace", "other"}}, rules);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kPermissionDenied);
}

}  // namespace
}  // namespace activescale::keda
