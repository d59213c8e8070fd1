#include "ingest/flush_aggregator.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace activescale::ingest {
namespace {

using metric::Quantity;
using std::chrono::milliseconds;

store::Flush Inbound(int64_t value) {
  store::Flush flush;
  flush.values[0] = Quantity::FromMilli(value * 1000);
  return flush;
}

/// Feeds an aggregator and notes what it publishes, as "inbound" or "-" for each flush.
class Stream {
 public:
  explicit Stream(AbsentFamily absent = AbsentFamily::kKeep) : aggregator_(absent) {}

  void Message(std::optional<int64_t> timestamp_ms, const store::Flush& part) {
    const auto published = aggregator_.Add(timestamp_ms, part, now_);
    Note(published.ended);
    Note(published.current);
  }
  void Message(std::optional<int64_t> timestamp_ms, int64_t inbound) {
    Message(timestamp_ms, Inbound(inbound));
  }
  void After(milliseconds time) {
    now_ += time;
    Note(aggregator_.TakeDue(now_));
  }
  void End() { Note(aggregator_.TakeLast()); }

  /// What was published since the last call.
  std::string Published() {
    std::string text;
    for (const std::string& flush : published_) text += (text.empty() ? "" : " ") + flush;
    published_.clear();
    return text;
  }
  [[nodiscard]] const FlushAggregator& aggregator() const { return aggregator_; }

  /// Makes the stream known as one of whole flushes.
  void BecomeUnbatched() {
    for (int i = 1; i <= 3; ++i) {
      Message(i, 0);
      After(milliseconds(5000));
    }
    Published();
  }

 private:
  void Note(const std::optional<FlushAggregator::Publication>& publication) {
    if (!publication) return;
    const auto& value = publication->flush.values[0];
    published_.push_back(value ? std::to_string(value->milli() / 1000) : "-");
  }

  FlushAggregator aggregator_;
  base::SteadyTime now_{std::chrono::seconds(1000)};
  std::vector<std::string> published_;
};

TEST(FlushAggregatorTest, UnknownStreamPublishesFiftyMillisecondsAfterTheMessage) {
  Stream stream;
  stream.Message(1, 3);
  EXPECT_EQ(stream.Published(), "");
  stream.After(milliseconds(49));
  EXPECT_EQ(stream.Published(), "");
  stream.After(milliseconds(1));
  EXPECT_EQ(stream.Published(), "3");
  stream.After(milliseconds(1000));
  EXPECT_EQ(stream.Published(), "") << "once";
}

TEST(FlushAggregatorTest, FourthFlushOfOneMessageEachIsPublishedAtOnce) {
  Stream stream;
  for (int i = 1; i <= 3; ++i) {
    stream.Message(i, i);
    EXPECT_EQ(stream.Published(), "") << i;
    stream.After(milliseconds(5000));
    EXPECT_EQ(stream.Published(), std::to_string(i));
  }
  stream.Message(4, 4);
  EXPECT_EQ(stream.Published(), "4");
  EXPECT_FALSE(stream.aggregator().due());
}

TEST(FlushAggregatorTest, NextFlushPublishesTheOneBeforeIt) {
  Stream stream;
  stream.Message(1, 3);
  stream.Message(2, 4);
  EXPECT_EQ(stream.Published(), "3");
}

// Case A2.
TEST(FlushAggregatorTest, BatchedFlushIsPublishedAsAWhole) {
  Stream stream;
  stream.Message(1000, 3);
  stream.Message(1000, 4);
  stream.After(milliseconds(5000));
  EXPECT_EQ(stream.Published(), "7");
  stream.Message(6000, 1);
  stream.After(milliseconds(10));
  stream.Message(6000, 0);
  stream.After(milliseconds(49));
  EXPECT_EQ(stream.Published(), "") << "the time counts from the last message";
  stream.After(milliseconds(1));
  EXPECT_EQ(stream.Published(), "1");
  EXPECT_TRUE(stream.aggregator().batched());
}

TEST(FlushAggregatorTest, BatchedStreamStaysBatchedForGood) {
  Stream stream;
  stream.Message(1, 1);
  stream.Message(1, 1);
  for (int i = 2; i < 10; ++i) {
    stream.Message(i, i);
    stream.Published();
  }
  stream.Message(10, 10);
  EXPECT_EQ(stream.Published(), "9") << "10 waits";
}

TEST(FlushAggregatorTest, SecondMessageOfAPublishedFlushPublishesTheSum) {
  Stream stream;
  stream.BecomeUnbatched();
  stream.Message(4, 3);
  EXPECT_EQ(stream.Published(), "3");
  stream.Message(4, 4);
  EXPECT_EQ(stream.Published(), "");
  stream.After(milliseconds(50));
  EXPECT_EQ(stream.Published(), "7");
}

TEST(FlushAggregatorTest, LatePartOfAFlushIsAddedToIt) {
  Stream stream;
  stream.Message(1, 3);
  stream.After(milliseconds(60));
  stream.Message(1, 4);
  stream.After(milliseconds(60));
  EXPECT_EQ(stream.Published(), "3 7");
}

TEST(FlushAggregatorTest, MessageWithoutTimestampIsAFlush) {
  Stream stream;
  stream.Message(std::nullopt, 3);
  stream.Message(std::nullopt, 4);
  EXPECT_EQ(stream.Published(), "3 4");
  EXPECT_FALSE(stream.aggregator().batched());
}

TEST(FlushAggregatorTest, SenderClockThatStepsBackBeginsAFlush) {
  Stream stream;
  stream.BecomeUnbatched();
  stream.Message(1, 5);
  EXPECT_EQ(stream.Published(), "5");
}

TEST(FlushAggregatorTest, LastFlushIsPublishedWhenTheStreamEnds) {
  Stream stream;
  stream.Message(1, 3);
  stream.End();
  stream.End();
  EXPECT_EQ(stream.Published(), "3");
}

TEST(FlushAggregatorTest, AbsentMetricIsNothingOrZeroAsConfigured) {
  for (const auto& [absent, want] :
       {std::pair(AbsentFamily::kKeep, "5 -"), std::pair(AbsentFamily::kZero, "5 0")}) {
    Stream stream(absent);
    stream.BecomeUnbatched();
    stream.Message(4, 5);
    stream.Message(5, store::Flush{});
    EXPECT_EQ(stream.Published(), want);
  }
}

TEST(FlushAggregatorTest, MetricNeverSeenIsNotMadeZero) {
  Stream stream(AbsentFamily::kZero);
  stream.Message(std::nullopt, store::Flush{});
  EXPECT_EQ(stream.Published(), "-");
}

TEST(FlushAggregatorTest, SumThatDoesNotFitSaturatesAndSaysSo) {
  FlushAggregator aggregator(AbsentFamily::kKeep);
  store::Flush huge;
  huge.values[0] = Quantity::FromMilli(INT64_MAX - 1);
  bool saturated = false;
  static_cast<void>(aggregator.Add(1, huge, {}, &saturated));
  EXPECT_FALSE(saturated);
  static_cast<void>(aggregator.Add(1, huge, {}, &saturated));
  EXPECT_TRUE(saturated);
  EXPECT_EQ(aggregator.TakeLast()->flush.values[0]->milli(), INT64_MAX);
}

}  // namespace
}  // namespace activescale::ingest
