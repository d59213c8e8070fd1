#include "series/series_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/testing/fake_clock.h"
#include "base/unix_time.h"

namespace activescale::series {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

metric::Labels Bare(const std::string& name) {
  return metric::Labels(std::vector<metric::Labels::Entry>{{"__name__", name}});
}

metric::Labels Gauge(const std::string& pod) {
  return metric::Labels({{"__name__", "inflight"}, {"pod", pod}});
}

Matchers Named(const std::string& name, const std::string& pod = "") {
  Matchers matchers{*Matcher::Make(Matcher::Op::kEqual, "__name__", name)};
  if (!pod.empty()) matchers.push_back(*Matcher::Make(Matcher::Op::kEqual, "pod", pod));
  return matchers;
}

class SeriesStoreTest : public testing::Test {
 protected:
  int64_t Now() const { return base::UnixMsNow(clock_); }
  Selection Select(SeriesStore& store, const Matchers& matchers,
                   std::chrono::milliseconds window = 2min) {
    return *store.Select(matchers, Now() - window.count(), Now());
  }
  static std::vector<Sample> Read(const Series& series, int64_t min = kMinTime,
                                  int64_t max = kMaxTime) {
    std::vector<Sample> samples;
    series.ForEach(min, max, [&](const Sample& sample) { samples.push_back(sample); });
    return samples;
  }
  static uint64_t Count(const SeriesStore& store, AppendOutcome outcome) {
    return store.stats().samples_by_outcome[static_cast<size_t>(outcome)];
  }

  base::FakeClock clock_;
};

TEST_F(SeriesStoreTest, RecordsOnlyWhatSomebodyAskedFor) {
  SeriesStore store({}, clock_);
  EXPECT_EQ(store.Append(Gauge("a"), {Now(), 1}), AppendOutcome::kNotWanted);
  EXPECT_FALSE(store.Wants(Gauge("a")));
  EXPECT_TRUE(Select(store, Named("inflight")).series.empty());
  EXPECT_TRUE(store.Wants(Gauge("a")));
  clock_.Advance(1s);
  EXPECT_EQ(store.Append(Gauge("a"), {Now(), 1}), AppendOutcome::kStored);
  EXPECT_EQ(store.Append(Bare("other"), {Now(), 1}), AppendOutcome::kNotWanted);
  const Selection selection = Select(store, Named("inflight"));
  ASSERT_EQ(selection.series.size(), 1U);
  EXPECT_EQ(Read(*selection.series[0]), (std::vector<Sample>{{Now(), 1}}));
  EXPECT_EQ(Count(store, AppendOutcome::kNotWanted), 2U);
}

TEST_F(SeriesStoreTest, TheVersionOfTheSelectorsChangesWithThemAndIsZeroWithoutAny) {
  SeriesStore store({.lease = 1min}, clock_);
  EXPECT_EQ(store.selectors_version(), 0U);
  (void)Select(store, Named("a"));
  const uint64_t first = store.selectors_version();
  EXPECT_NE(first, 0U);
  (void)Select(store, Named("a"));
  EXPECT_EQ(store.selectors_version(), first);
  (void)Select(store, Named("b"));
  EXPECT_NE(store.selectors_version(), first);
  clock_.Advance(2min);
  store.Maintain();
  EXPECT_EQ(store.selectors_version(), 0U);
  (void)Select(store, Named("a"));
  EXPECT_NE(store.selectors_version(), first);
}

TEST_F(SeriesStoreTest, RefusesOutOfOrderAndDuplicateSamples) {
  SeriesStore store({}, clock_);
  store.Keep(Named("inflight"), 1h);
  EXPECT_EQ(store.Append(Gauge("a"), {1000, 1}), AppendOutcome::kStored);
  EXPECT_EQ(store.Append(Gauge("a"), {1000, 1}), AppendOutcome::kDuplicate);
  EXPECT_EQ(store.Append(Gauge("a"), {1000, 2}), AppendOutcome::kDuplicate);
  EXPECT_EQ(store.Append(Gauge("a"), {999, 1}), AppendOutcome::kOutOfOrder);
  EXPECT_EQ(store.Append(Gauge("b"), {999, 1}), AppendOutcome::kStored);
  EXPECT_EQ(Count(store, AppendOutcome::kDuplicate), 2U);
  EXPECT_EQ(Count(store, AppendOutcome::kOutOfOrder), 1U);
}

TEST_F(SeriesStoreTest, ALeaseEndsWhenNobodyAsksAnyMore) {
  SeriesStore store({.lease = 10min}, clock_);
  (void)Select(store, Named("inflight"));
  EXPECT_EQ(store.Append(Gauge("a"), {Now(), 1}), AppendOutcome::kStored);
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(9min);
    store.Append(Gauge("a"), {Now(), 1});
    (void)Select(store, Named("inflight"));
    store.Maintain();
    EXPECT_EQ(store.stats().series, 1U);
  }
  clock_.Advance(11min);
  store.Maintain();
  EXPECT_EQ(store.stats().series, 0U);
  EXPECT_EQ(store.stats().leases_expired, 1U);
  EXPECT_EQ(store.Append(Gauge("a"), {Now(), 1}), AppendOutcome::kNotWanted);
}

TEST_F(SeriesStoreTest, AKeptSelectorNeverEnds) {
  SeriesStore store({}, clock_);
  store.Keep(Named("inflight"), 1h);
  clock_.Advance(24h);
  store.Maintain();
  EXPECT_EQ(store.Append(Gauge("a"), {Now(), 1}), AppendOutcome::kStored);
}

TEST_F(SeriesStoreTest, AWindowIsWholeOnlySinceTheLeaseBegan) {
  SeriesStore store({}, clock_);
  const int64_t began = Now();
  EXPECT_EQ(Select(store, Named("inflight")).observed_since_ms, began);
  clock_.Advance(5min);
  EXPECT_EQ(Select(store, Named("inflight")).observed_since_ms, began);
  // A longer window than was asked for so far reaches into what may be forgotten.
  EXPECT_EQ(Select(store, Named("inflight"), 1h).observed_since_ms, Now() - 240'000);
}

TEST_F(SeriesStoreTest, AQueryThatIsALittleLateStillFindsItsWindowWhole) {
  SeriesStore store({}, clock_);
  const int64_t began = Now();
  (void)Select(store, Named("inflight"), 2min);
  clock_.Advance(9min);
  EXPECT_EQ(Select(store, Named("inflight"), 2min + 30ms).observed_since_ms, began);
}

TEST_F(SeriesStoreTest, ANarrowerSelectorHasTheWindowOfTheWiderOne) {
  SeriesStore store({}, clock_);
  const int64_t began = Now();
  store.Keep(Named("inflight"), 1h);
  clock_.Advance(5min);
  EXPECT_EQ(Select(store, Named("inflight", "a")).observed_since_ms, began);
  EXPECT_EQ(Select(store, Named("other")).observed_since_ms, Now());
}

TEST_F(SeriesStoreTest, ForgetsSamplesBeforeEveryWindow) {
  SeriesStore store({.lease = 24h}, clock_);
  (void)Select(store, Named("inflight"), 2min);
  for (int i = 0; i < 2000; ++i) {
    clock_.Advance(5s);
    store.Append(Gauge("a"), {Now(), 1.0 * i});
  }
  store.Maintain();
  const Selection selection = Select(store, Named("inflight"));
  ASSERT_EQ(selection.series.size(), 1U);
  EXPECT_LE(selection.series[0]->sample_count(), 48U + 240U);
  EXPECT_EQ(Read(*selection.series[0], Now() - 120'000).size(), 25U);
}

TEST_F(SeriesStoreTest, ASeriesThatGoesAwayIsForgotten) {
  SeriesStore store({}, clock_);
  store.Keep(Named("inflight"), 2min);
  store.Append(Gauge("a"), {Now(), 1});
  store.MarkStale(Gauge("a"), Now() + 1);
  store.MarkStale(Gauge("never seen"), Now());
  EXPECT_EQ(Read(*Select(store, Named("inflight")).series.at(0)).size(), 2U);
  EXPECT_TRUE(IsStaleMarker(Read(*Select(store, Named("inflight")).series.at(0)).at(1).value));
  clock_.Advance(10min);
  store.Maintain();
  EXPECT_EQ(store.stats().series, 0U);
}

TEST_F(SeriesStoreTest, DropsTheOldestLeaseWhenMemoryIsFull) {
  SeriesStore store({.max_bytes = 200'000}, clock_);
  (void)Select(store, Named("old"));
  clock_.Advance(1s);
  (void)Select(store, Named("inflight"));
  for (int i = 0; i < 400; ++i) {
    store.Append(metric::Labels({{"__name__", "old"}, {"pod", std::to_string(i)}}), {Now(), 1});
  }
  ASSERT_EQ(store.stats().leases_dropped_for_memory, 0U);
  int64_t time = Now();
  while (store.stats().leases_dropped_for_memory == 0) {
    for (int i = 0; i < 10; ++i) store.Append(Gauge(std::to_string(i)), {time, 0.1 * time});
    ++time;
    ASSERT_LE(store.stats().bytes, 200'000U + 1000U);
  }
  EXPECT_TRUE(store.Wants(Gauge("0")));
  EXPECT_FALSE(store.Wants(metric::Labels({{"__name__", "old"}, {"pod", "1"}})));
  EXPECT_EQ(store.stats().series, 10U);
}

TEST_F(SeriesStoreTest, KeptSelectorsNeverGrowBeyondTheLimit) {
  SeriesStore store({.max_bytes = 50'000}, clock_);
  store.Keep(Named("inflight"), 24h);
  AppendOutcome outcome = AppendOutcome::kStored;
  for (int i = 0; i < 10'000; ++i) {
    outcome = store.Append(Gauge(std::to_string(i)), {Now(), 1});
  }
  EXPECT_EQ(outcome, AppendOutcome::kFull);
  EXPECT_LE(store.stats().bytes, 51'000U);
  EXPECT_GT(Count(store, AppendOutcome::kFull), 0U);
}

TEST_F(SeriesStoreTest, SelectsByEveryKindOfMatcher) {
  SeriesStore store({}, clock_);
  store.Keep({*Matcher::Make(Matcher::Op::kNotEqual, "__name__", "")}, 1h);
  const std::vector<metric::Labels> all{Gauge("a"), Gauge("b"), Gauge("ab"),
                                        metric::Labels({{"__name__", "other"}, {"pod", "a"}}),
                                        Bare("inflight")};
  for (const auto& labels : all) store.Append(labels, {Now(), 1});
  using Op = Matcher::Op;
  const struct {
    Matchers matchers;
    std::vector<size_t> want;
  } cases[] = {
      {Named("inflight"), {0, 1, 2, 4}},
      {Named("inflight", "a"), {0}},
      {Named("nothing"), {}},
      {{*Matcher::Make(Op::kEqual, "pod", "a")}, {0, 3}},
      {{*Matcher::Make(Op::kEqual, "pod", "")}, {4}},
      {{*Matcher::Make(Op::kMatch, "pod", "a.*")}, {0, 2, 3}},
      {{*Matcher::Make(Op::kNotMatch, "pod", "a.*")}, {1, 4}},
      {{*Matcher::Make(Op::kNotEqual, "pod", "a")}, {1, 2, 4}},
  };
  for (const auto& c : cases) {
    const Selection selection = Select(store, c.matchers);
    std::vector<metric::Labels> want;
    for (const size_t i : c.want) want.push_back(all[i]);
    std::vector<metric::Labels> got;
    for (const auto& series : selection.series) got.push_back(series->labels());
    EXPECT_EQ(got, want) << c.matchers[0].ToString();
  }
}

TEST_F(SeriesStoreTest, ManyDifferentQueriesAreBounded) {
  SeriesStore store({.max_leases = 100}, clock_);
  store.Keep(Named("inflight"), 1h);
  for (int i = 0; i < 1000; ++i) (void)Select(store, Named("q" + std::to_string(i)));
  EXPECT_EQ(store.stats().leases, 100U);
  EXPECT_TRUE(store.Wants(Gauge("a")));
}

}  // namespace
}  // namespace activescale::series
