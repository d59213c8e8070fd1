#include "signal/evaluator.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/testing/fake_clock.h"
#include "promql/parser.h"
#include "series/series_store.h"

namespace activescale::signal {
namespace {

using std::chrono::seconds;

class FakeTelemetry final : public Telemetry {
 public:
  base::Result<void> Check(const series::Matchers&) const override {
    if (fault) return base::Fail(base::Code::kUnavailable, *fault);
    return {};
  }
  std::optional<std::string> fault;
};

class EvaluatorTest : public testing::Test {
 protected:
  base::Result<promql::QueryResult> Ask(const std::string& query, const Scope& scope = {}) {
    const auto expr = promql::Parse(query);
    EXPECT_TRUE(expr) << query;
    return evaluator_.EvaluateNow(**expr, scope);
  }
  void Flush(double value) {
    for (const std::string ns : {"blue", "green"}) {
      series_.Append(metric::Labels({{"__name__", "inflight"}, {"namespace", ns}}),
                     {1000 * (1'000'000 + second_), value});
    }
    clock_.Advance(seconds(1));
    ++second_;
  }

  base::FakeClock clock_;
  series::SeriesStore series_{{}, clock_};
  FakeTelemetry telemetry_;
  Evaluator evaluator_{{}, series_, &telemetry_, clock_};
  int64_t second_ = 0;
};

TEST_F(EvaluatorTest, AWindowIsMissingUntilItWasObservedWhole) {
  const std::string query = "sum(max_over_time(inflight[5s]))";
  const auto first = Ask(query);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, base::Code::kNotFound);
  for (int i = 0; i < 4; ++i) Flush(3);
  EXPECT_FALSE(Ask(query));
  const auto partial = Ask(query, {.ns = "", .partial_window = PartialWindow::kServe});
  ASSERT_TRUE(partial);
  EXPECT_EQ(partial->series[0].points[0].value, 6);
  Flush(3);
  const auto whole = Ask(query);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->series[0].points[0].value, 6);
}

TEST_F(EvaluatorTest, UnsoundTelemetryIsAnErrorNotAnEmptyAnswer) {
  telemetry_.fault = "the store is away";
  for (const std::string query : {"inflight", "absent(inflight)", "inflight or vector(0)"}) {
    const auto result = Ask(query);
    ASSERT_FALSE(result) << query;
    EXPECT_EQ(result.error().code, base::Code::kUnavailable);
    EXPECT_EQ(result.error().message, "the store is away");
  }
}

TEST_F(EvaluatorTest, IsRecordedFromTheFirstQuestionOnEvenIfThatFailed) {
  telemetry_.fault = "no heartbeat yet";
  EXPECT_FALSE(Ask("inflight"));
  telemetry_.fault.reset();
  Flush(3);
  const auto result = Ask("sum(inflight)");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->series.at(0).points[0].value, 6);
}

TEST_F(EvaluatorTest, AScopeSeesItsNamespaceAlone) {
  static_cast<void>(Ask("inflight"));
  Flush(3);
  const auto all = Ask("count(inflight)");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->series.at(0).points[0].value, 2);
  const auto blue = Ask("inflight", {.ns = "blue"});
  ASSERT_TRUE(blue);
  ASSERT_EQ(blue->series.size(), 1U);
  EXPECT_EQ(blue->series[0].labels.Get("namespace"), "blue");
  // That there is nothing would only be known after a while.
  const auto other =
      Ask("inflight{namespace=\"green\"}", {.ns = "blue", .partial_window = PartialWindow::kServe});
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_TRUE(other->series.empty());
}

}  // namespace
}  // namespace activescale::signal
