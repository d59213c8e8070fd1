#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "metric/pod_key.h"
#include "metric/quantity.h"
#include "store/sample_store.h"

namespace activescale::store {

inline constexpr auto kInbound = metric::MetricKind::kInboundActiveRequests;
inline constexpr auto kOutbound = metric::MetricKind::kOutboundActiveRequests;

/// A flush in which one metric has a value and the others are absent.
inline Flush FlushOf(metric::MetricKind kind, int64_t value) {
  Flush flush;
  flush.values[static_cast<size_t>(kind)] = metric::Quantity::FromMilli(value * 1000);
  return flush;
}

/// "7", "zero" for a synthesized one, "missing".
inline std::string Say(const PodReading& reading) {
  switch (reading.state) {
    case PodReading::State::kMissing:
      return "missing";
    case PodReading::State::kSynthesizedZero:
      return "zero";
    case PodReading::State::kValue:
      return std::to_string(reading.value.milli() / 1000);
  }
  return "?";
}

/// What every SampleStore owes to its users, run on each. A Harness has:
///   SampleStore& store();
///   std::chrono::nanoseconds ttl() const;
///   base::SteadyTime Now() const;
///   void Advance(std::chrono::nanoseconds);   lets time pass
///   void Settle();                            waits until what was written can be read
///   Result<ReadResult> Read(pods, kind);      waits for the answer
///   Result<ReadAllResult> ReadAll(pods);      also
template <typename Harness>
class SampleStoreContract : public testing::Test {
 protected:
  using Stream = std::unique_ptr<PodStream>;

  Stream Open() { return harness_.store().Open(web_); }
  void Write(Stream& stream, int64_t value, metric::MetricKind kind = kInbound) {
    stream->Write(FlushOf(kind, value), harness_.Now());
    harness_.Settle();
  }
  void Heartbeat(Stream& stream) {
    stream->Heartbeat(harness_.Now());
    harness_.Settle();
  }
  void Close(Stream& stream) {
    stream.reset();
    harness_.Settle();
  }
  /// Lets `tenths` tenths of the TTL pass.
  void Age(int tenths) { harness_.Advance(harness_.ttl() / 10 * tenths); }
  std::string Read(metric::MetricKind kind = kInbound) {
    harness_.Settle();
    auto result = harness_.Read({web_}, kind);
    if (!result) return "error: " + result.error().message;
    return result->readings.size() == 1 ? Say(result->readings[0]) : "wrong size";
  }

  const metric::PodKey web_{"shop", "web-0"};
  Harness harness_;
};

TYPED_TEST_SUITE_P(SampleStoreContract);

TYPED_TEST_P(SampleStoreContract, UnknownPodIsMissing) { EXPECT_EQ(this->Read(), "missing"); }

TYPED_TEST_P(SampleStoreContract, OpenStreamWithoutMessageIsMissing) {
  auto stream = this->Open();
  EXPECT_EQ(this->Read(), "missing");
}

TYPED_TEST_P(SampleStoreContract, FreshHeartbeatWithoutSampleIsZero) {
  auto stream = this->Open();
  this->Heartbeat(stream);
  EXPECT_EQ(this->Read(), "zero");
}

TYPED_TEST_P(SampleStoreContract, AnswersInTheOrderAsked) {
  auto& harness = this->harness_;
  std::vector<metric::PodKey> pods;
  std::vector<std::unique_ptr<PodStream>> streams;
  for (int i = 0; i < 40; ++i) {
    pods.push_back({i % 2 == 0 ? "shop" : "ops", "web-" + std::to_string(i)});
    if (i % 4 == 3) continue;  // never pushed
    streams.push_back(harness.store().Open(pods.back()));
    streams.back()->Write(FlushOf(kInbound, 100 + i), harness.Now());
  }
  harness.Settle();
  const auto result = harness.Read(pods, kInbound);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->partial);
  ASSERT_EQ(result->readings.size(), pods.size());
  for (size_t i = 0; i < pods.size(); ++i) {
    EXPECT_EQ(Say(result->readings[i]), i % 4 == 3 ? "missing" : std::to_string(100 + i));
  }
}

TYPED_TEST_P(SampleStoreContract, ReadingOfNoPodsIsEmpty) {
  const auto result = this->harness_.Read({}, kInbound);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->readings.empty());
}

TYPED_TEST_P(SampleStoreContract, ReadingAllMetricsSaysWhatReadingEachDoes) {
  auto& harness = this->harness_;
  auto stream = this->Open();
  this->Write(stream, 7, kInbound);
  this->Age(5);
  this->Write(stream, 3, kOutbound);
  auto idle = harness.store().Open({"shop", "idle"});
  this->Heartbeat(idle);
  const auto result = harness.ReadAll({this->web_, {"shop", "nobody"}, {"shop", "idle"}});
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->partial);
  std::string said;
  for (const auto& pod : result->readings) {
    for (const PodReading& reading : pod) said += Say(reading) + " ";
    said += "| ";
  }
  EXPECT_EQ(said, "7 3 zero | missing missing missing | zero zero zero | ");
  EXPECT_GT(result->readings[0][1].received, result->readings[0][0].received);
  EXPECT_EQ(result->readings[0][2].received, result->readings[0][1].received) << "the heartbeat";
  this->Age(7);
  EXPECT_EQ(Say(harness.ReadAll({this->web_})->readings[0][0]), "zero") << "older than the TTL";
}

TYPED_TEST_P(SampleStoreContract, AFlushReplacesTheOneBefore) {
  auto stream = this->Open();
  this->Write(stream, 7);
  this->Write(stream, 0);
  EXPECT_EQ(this->Read(), "0");
}

TYPED_TEST_P(SampleStoreContract, LargeValuesAreExact) {
  auto stream = this->Open();
  Flush flush;
  flush.values[0] = metric::Quantity::FromMilli(INT64_MAX);
  flush.values[1] = metric::Quantity::FromMilli(1);
  stream->Write(flush, this->harness_.Now());
  this->harness_.Settle();
  EXPECT_EQ(this->harness_.Read({this->web_}, kInbound)->readings[0].value.milli(), INT64_MAX);
  EXPECT_EQ(this->harness_.Read({this->web_}, kOutbound)->readings[0].value.milli(), 1);
}

TYPED_TEST_P(SampleStoreContract, AbsentMetricKeepsItsValueUntilItsOwnTtlThenIsZero) {
  auto stream = this->Open();
  this->Write(stream, 7, kInbound);
  this->Age(5);
  this->Write(stream, 3, kOutbound);
  EXPECT_EQ(this->Read(kInbound), "7");
  this->Age(7);
  EXPECT_EQ(this->Read(kInbound), "zero") << "older than the TTL, the heartbeat is not";
  EXPECT_EQ(this->Read(kOutbound), "3");
}

// Case B3 of a neighbour: older than its TTL and yet served.
TYPED_TEST_P(SampleStoreContract, ValueOlderThanTheTtlIsMissing) {
  auto stream = this->Open();
  this->Write(stream, 7);
  this->Age(6);
  EXPECT_EQ(this->Read(), "7");
  this->Age(5);
  EXPECT_EQ(this->Read(), "missing");
}

TYPED_TEST_P(SampleStoreContract, HeartbeatsKeepAPodAtZero) {
  auto stream = this->Open();
  this->Heartbeat(stream);
  this->Age(6);
  this->Heartbeat(stream);
  this->Age(6);
  EXPECT_EQ(this->Read(), "zero");
}

TYPED_TEST_P(SampleStoreContract, ReceivedIsWhenTheSampleCame) {
  auto stream = this->Open();
  const base::SteadyTime before = this->harness_.Now();
  this->Write(stream, 7);
  this->Age(3);
  const auto result = this->harness_.Read({this->web_}, kInbound);
  ASSERT_TRUE(result);
  // A shared store may find it older by a round trip, never younger.
  EXPECT_LE(result->readings[0].received, before + std::chrono::milliseconds(50));
  EXPECT_GE(result->readings[0].received, before - std::chrono::milliseconds(50));
}

TYPED_TEST_P(SampleStoreContract, ValuesStayAfterACleanClose) {
  auto stream = this->Open();
  this->Write(stream, 7);
  this->Close(stream);
  EXPECT_EQ(this->Read(), "7");
}

// Case B2 of a neighbour: a pod of a StatefulSet comes back under its name while the old stream is
// still half open.
TYPED_TEST_P(SampleStoreContract, NewerStreamCountsAndTheOlderOnesLateWriteDoesNot) {
  auto old_stream = this->Open();
  this->Write(old_stream, 40);
  auto new_stream = this->Open();
  this->Write(new_stream, 2);
  this->Write(old_stream, 40);
  EXPECT_EQ(this->Read(), "2");
  this->Heartbeat(old_stream);
  EXPECT_EQ(this->Read(), "2");
}

TYPED_TEST_P(SampleStoreContract, OlderStreamIsRefusedAsSoonAsTheNewerOneIsOpen) {
  auto old_stream = this->Open();
  this->Write(old_stream, 40);
  auto new_stream = this->Open();
  this->harness_.Settle();
  this->Write(old_stream, 41);
  EXPECT_EQ(this->Read(), "40");
}

TYPED_TEST_P(SampleStoreContract, AfterACleanCloseAnOlderStreamThatStillWritesTakesOver) {
  auto old_stream = this->Open();
  this->Write(old_stream, 40);
  auto new_stream = this->Open();
  this->Write(new_stream, 2);
  this->Close(new_stream);
  EXPECT_EQ(this->Read(), "2") << "until it writes";
  this->Write(old_stream, 41);
  EXPECT_EQ(this->Read(), "41");
}

TYPED_TEST_P(SampleStoreContract, OfSeveralOlderStreamsTheNewestTakesOver) {
  auto first = this->Open();
  this->Write(first, 1);
  auto second = this->Open();
  this->Write(second, 2);
  auto third = this->Open();
  this->Write(third, 3);
  this->Close(third);
  this->Write(first, 11);
  this->Write(second, 12);
  this->Write(first, 13);
  EXPECT_EQ(this->Read(), "12");
}

TYPED_TEST_P(SampleStoreContract, AnOlderStreamsCloseChangesNothing) {
  auto old_stream = this->Open();
  this->Write(old_stream, 40);
  auto new_stream = this->Open();
  this->Write(new_stream, 2);
  this->Close(old_stream);
  EXPECT_EQ(this->Read(), "2");
  this->Write(new_stream, 3);
  EXPECT_EQ(this->Read(), "3");
}

TYPED_TEST_P(SampleStoreContract, NewStreamKeepsWhatIsFreshOfAnEarlierOne) {
  auto old_stream = this->Open();
  this->Write(old_stream, 40, kInbound);
  this->Close(old_stream);
  auto new_stream = this->Open();
  this->Write(new_stream, 3, kOutbound);
  EXPECT_EQ(this->Read(kInbound), "40");
  EXPECT_EQ(this->Read(kOutbound), "3");
}

REGISTER_TYPED_TEST_SUITE_P(
    SampleStoreContract, UnknownPodIsMissing, OpenStreamWithoutMessageIsMissing,
    FreshHeartbeatWithoutSampleIsZero, AnswersInTheOrderAsked, ReadingOfNoPodsIsEmpty,
    ReadingAllMetricsSaysWhatReadingEachDoes, AFlushReplacesTheOneBefore, LargeValuesAreExact,
    AbsentMetricKeepsItsValueUntilItsOwnTtlThenIsZero, ValueOlderThanTheTtlIsMissing,
    HeartbeatsKeepAPodAtZero, ReceivedIsWhenTheSampleCame, ValuesStayAfterACleanClose,
    NewerStreamCountsAndTheOlderOnesLateWriteDoesNot, OlderStreamIsRefusedAsSoonAsTheNewerOneIsOpen,
    AfterACleanCloseAnOlderStreamThatStillWritesTakesOver, OfSeveralOlderStreamsTheNewestTakesOver,
    AnOlderStreamsCloseChangesNothing, NewStreamKeepsWhatIsFreshOfAnEarlierOne);

}  // namespace activescale::store
