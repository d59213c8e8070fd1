#include "signal/reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/testing/fake_clock.h"
#include "promql/testing/fixed_source.h"

namespace activescale::signal {
namespace {

using testing::HasSubstr;

class SignalReaderTest : public testing::Test {
 protected:
  void Add(const std::string& name, const std::string& pod, double value) {
    source_.Add(metric::Labels({{"__name__", name}, {"pod", pod}}), {{1'000'000'000, value}});
  }
  base::Result<std::vector<Reading>> Read(const std::string& expression,
                                          const std::string& more = "") {
    const auto catalogue = Catalogue::Parse(
        "signals:\n- name: load\n  target: 1\n  labels: {team: shop}\n"
        "  expression: " +
            expression + "\n" + more,
        promql::Dialect::kPrometheus3);
    EXPECT_TRUE(catalogue) << catalogue.error().message;
    return reader_.Read(catalogue->signals().at(0));
  }

  base::FakeClock clock_;
  promql::FixedSource source_;
  Evaluator evaluator_{{}, source_, nullptr, clock_};
  telemetry::Registry registry_;
  SignalReader reader_{evaluator_, registry_};
};

TEST_F(SignalReaderTest, GivesOneValueForEachSeriesWithTheSignalsLabels) {
  Add("inflight", "a", 3);
  Add("inflight", "b", 2.5);
  const auto readings = Read("inflight");
  ASSERT_TRUE(readings);
  ASSERT_EQ(readings->size(), 2U);
  EXPECT_EQ(readings->at(0).labels, metric::Labels({{"pod", "a"}, {"team", "shop"}}));
  EXPECT_EQ(readings->at(1).value, 2.5);
  const auto sum = Read("sum(inflight) + 1");
  ASSERT_TRUE(sum);
  EXPECT_EQ(SingleValue(*sum), 6.5);
  EXPECT_EQ(SingleValue(*Read("vector(0)")), 0);
  EXPECT_EQ(SingleValue(*Read("3")), 3);
  EXPECT_THAT(SingleValue(*readings).error().message, HasSubstr("gives 2 series"));
}

TEST_F(SignalReaderTest, WhatNobodyCanScaleByIsAnError) {
  Add("inflight", "a", 3);
  Add("inflight", "b", 3);
  const struct {
    std::string expression;
    base::Code code;
    std::string want;
  } cases[] = {
      {"nothing", base::Code::kNotFound, "signal load: the expression has no value now"},
      {"inflight > 5", base::Code::kNotFound, "has no value now"},
      {"vector(0) / 0", base::Code::kNotFound, "or gives NaN"},
      {"inflight - 5", base::Code::kInternal, "gives -2"},
      {"inflight / 0", base::Code::kInternal, "gives +Inf"},
      {"inflight * 1e12", base::Code::kInternal, "gives 3000000000000"},
      {"inflight + on() inflight", base::Code::kInternal, "cannot be evaluated"},
  };
  for (const auto& c : cases) {
    const auto readings = Read("'" + c.expression + "'");
    if (readings) {
      ADD_FAILURE() << c.expression;
      continue;
    }
    EXPECT_EQ(readings.error().code, c.code) << c.expression;
    EXPECT_THAT(readings.error().message, HasSubstr(c.want)) << c.expression;
  }
}

// Case A11: a short queue hides demand, so what waits is counted with what runs.
TEST_F(SignalReaderTest, QueuedAndRunningAddUp) {
  Add("upstream_rq_pending_active", "gateway", 20);
  Add("inbound_active_requests", "worker", 6);
  EXPECT_EQ(SingleValue(*Read("sum(inbound_active_requests)")), 6);
  EXPECT_EQ(SingleValue(*Read("sum(upstream_rq_pending_active) + sum(inbound_active_requests)")),
            26);
}

TEST_F(SignalReaderTest, TheFallbackStandsForWhatIsMissingOrFails) {
  EXPECT_FALSE(Read("nothing", "  fallback: missing"));
  const auto readings = Read("nothing", "  fallback: 8");
  ASSERT_TRUE(readings);
  EXPECT_EQ(readings->at(0).value, 8);
  EXPECT_EQ(readings->at(0).labels,
            metric::Labels(std::vector<metric::Labels::Entry>{{"team", "shop"}}));
  source_.set_error({base::Code::kUnavailable, "away"});
  EXPECT_EQ(Read("nothing").error().code, base::Code::kUnavailable);
  EXPECT_EQ(SingleValue(*Read("nothing", "  fallback: 8")), 8);
}

}  // namespace
}  // namespace activescale::signal
