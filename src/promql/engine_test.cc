#include "promql/engine.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/testing/fake_clock.h"
#include "promql/numeric.h"
#include "promql/testing/fixed_source.h"

namespace activescale::promql {
namespace {

constexpr int64_t kNow = 1'000'000'000;

class EngineTest : public testing::Test {
 protected:
  EngineTest() {
    for (const std::string pod : {"a", "b"}) {
      std::vector<series::Sample> samples;
      for (int i = 60; i >= 0; --i)
        samples.push_back({kNow - i * 5000, pod == "a" ? 6.0 : 4.0 + i % 3});
      source_.Add(metric::Labels({{"__name__", "inflight"}, {"pod", pod}}), samples);
    }
  }
  base::Result<QueryResult> Query(const std::string& query, const EngineOptions& options = {}) {
    return Engine(options, source_, clock_).Query(query, EvaluationTime::At(kNow));
  }

  FixedSource source_;
  base::FakeClock clock_;
};

TEST_F(EngineTest, AnswersTheQueryOfScaling) {
  const auto result = Query("sum(max_over_time(inflight[2m]))");
  ASSERT_TRUE(result);
  ASSERT_EQ(result->series.size(), 1U);
  EXPECT_TRUE(result->series[0].labels.empty());
  EXPECT_EQ(result->series[0].points, (std::vector<series::Sample>{{kNow, 12}}));
}

TEST_F(EngineTest, TellsWhetherEveryWindowWasObservedWhole) {
  const struct {
    std::string query;
    int64_t observed_for_ms;
    bool want;
  } cases[] = {
      {"inflight", 0, true},
      {"unheard_of", 0, false},
      {"unheard_of or vector(0)", 299'000, false},
      {"unheard_of", 300'000, true},
      {"max_over_time(inflight[2m])", 119'000, false},
      {"max_over_time(inflight[2m])", 120'000, true},
      {"max_over_time(inflight[2m] offset 1m)", 120'000, false},
      {"max_over_time(inflight[2m] offset 1m)", 180'000, true},
      {"max_over_time(sum(inflight)[2m:5s])", 60'000, false},
      {"max_over_time(sum(inflight)[2m:5s])", 120'000, true},
      {"inflight / max_over_time(inflight[4m])", 120'000, false},
  };
  for (const auto& c : cases) {
    source_.set_observed_since(kNow - c.observed_for_ms);
    const auto result = Query(c.query);
    ASSERT_TRUE(result) << c.query;
    EXPECT_EQ(result->whole, c.want) << c.query << " observed for " << c.observed_for_ms;
  }
}

TEST_F(EngineTest, AFailedSourceIsAnErrorNotAnEmptyVector) {
  source_.set_error({base::Code::kUnavailable, "the store is away"});
  for (const std::string query : {"inflight", "sum(rate(inflight[1m]))", "absent(inflight)",
                                  "inflight or vector(0)", "scalar(inflight)", "inflight[1m]"}) {
    const auto result = Query(query);
    ASSERT_FALSE(result) << query;
    EXPECT_EQ(result.error().code, base::Code::kUnavailable);
    EXPECT_EQ(result.error().message, "the store is away");
  }
}

TEST_F(EngineTest, TooManySamplesAreRefused) {
  for (const std::string query : {"sum(rate(inflight[5m]))", "inflight[5m]",
                                  "max_over_time(vector(1)[100y:1ms])", "vector(1)[1d:1s]"}) {
    const auto result = Query(query, {.max_samples = 50});
    ASSERT_FALSE(result) << query;
    EXPECT_EQ(result.error().code, base::Code::kResourceExhausted) << query;
  }
  for (const std::string query : {"1", "inflight", "sum(rate(inflight[1m]))"}) {
    const auto range = Engine({}, source_, clock_).Query(query, {0, int64_t{1} << 60, 1});
    ASSERT_FALSE(range) << query;
    EXPECT_EQ(range.error().code, base::Code::kResourceExhausted);
  }
}

/// A clock that is a second later each time somebody looks at it.
class HurriedClock final : public base::Clock {
 public:
  [[nodiscard]] base::SteadyTime Now() const override {
    return base::SteadyTime(std::chrono::seconds(++looks_));
  }
  [[nodiscard]] base::WallTime WallNow() const override { return {}; }

 private:
  mutable int looks_ = 0;
};

TEST_F(EngineTest, ALongQueryIsGivenUp) {
  const HurriedClock clock;
  const Engine engine({.timeout = std::chrono::seconds(5)}, source_, clock);
  EXPECT_TRUE(engine.Query("sum(inflight)", EvaluationTime::At(kNow)));
  const auto result = engine.Query("max_over_time(sum(inflight)[5m:1s])", EvaluationTime::At(kNow));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, base::Code::kDeadlineExceeded);
}

TEST_F(EngineTest, TheDeepestQueryIsEvaluated) {
  std::string query = "inflight";
  for (int i = 0; i < 99; ++i) query = "abs(" + query + ")";
  EXPECT_TRUE(Query(query));
}

TEST_F(EngineTest, ValuesAreWrittenAsPrometheusDoes) {
  const struct {
    double value;
    std::string want;
  } cases[] = {{0, "0"},
               {-0.0, "-0"},
               {1, "1"},
               {0.1, "0.1"},
               {100, "100"},
               {-12.5, "-12.5"},
               {1.0 / 3, "0.3333333333333333"},
               {123456789.125, "123456789.125"},
               {12345678901234567890.0, "12345678901234567000"},
               {1e20, "100000000000000000000"},
               {1e21, "1e+21"},
               {1e-6, "0.000001"},
               {1e-7, "1e-07"},
               {5e-324, "5e-324"},
               {1.7976931348623157e308, "1.7976931348623157e+308"},
               {NAN, "NaN"},
               {INFINITY, "+Inf"},
               {-INFINITY, "-Inf"}};
  for (const auto& c : cases) EXPECT_EQ(FormatValue(c.value), c.want);
  EXPECT_EQ(FormatPlain(1e22), "1" + std::string(22, '0'));
  EXPECT_EQ(FormatPlain(1.5e-9), "0.0000000015");
}

}  // namespace
}  // namespace activescale::promql
