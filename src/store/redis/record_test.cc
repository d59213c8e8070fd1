#include "store/redis/record.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>

#include "redis/slots.h"

namespace activescale::store {
namespace {

using std::chrono::milliseconds;

Record Example() {
  Record record;
  record.released = true;
  record.epoch = 1'700'000'000'123'456;
  record.owner = 0xfedcba9876543210;
  record.heartbeat = StoredTime(milliseconds(1'700'000'000'500));
  record.samples[0] = {StoredTime(milliseconds(1'700'000'000'400)),
                       metric::Quantity::FromMilli(7000)};
  record.samples[2] = {StoredTime(milliseconds(1)), metric::Quantity::FromMilli(INT64_MAX)};
  return record;
}

/// In a heap block of its exact size, so that a read past the end shows.
constexpr std::string_view kKey = "activescale:{shop/7}:web-0";

std::expected<Record, BadRecord> Parse(std::string_view bytes, std::string_view key = kKey) {
  const auto block = std::make_unique<char[]>(bytes.size());
  std::memcpy(block.get(), bytes.data(), bytes.size());
  return ParseRecord(std::string_view(block.get(), bytes.size()), key);
}

TEST(RecordTest, ReadsWhatItWrote) {
  const Record want = Example();
  const std::string bytes = FormatRecord(want, kKey);
  EXPECT_EQ(bytes.size(), 88u) << "docs/store.md";
  const auto got = Parse(bytes);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->released, want.released);
  EXPECT_EQ(got->epoch, want.epoch);
  EXPECT_EQ(got->owner, want.owner);
  EXPECT_EQ(got->heartbeat, want.heartbeat);
  for (size_t i = 0; i < want.samples.size(); ++i) {
    EXPECT_EQ(got->samples[i].at, want.samples[i].at);
    EXPECT_EQ(got->samples[i].value, want.samples[i].value);
  }
}

TEST(RecordTest, NeighbouringVersionsAreReadAndOthersAreNot) {
  const std::string appended =
      FormatRecord(Example(), kKey, kRecordVersion + 1) + "what comes next";
  ASSERT_TRUE(Parse(appended));
  EXPECT_EQ(Parse(appended)->epoch, Example().epoch);
  EXPECT_EQ(Parse(FormatRecord(Example(), kKey, 0)).error(), BadRecord::kUnknownVersion);
  EXPECT_EQ(Parse(FormatRecord(Example(), kKey, kRecordVersion + 2)).error(),
            BadRecord::kUnknownVersion);
  EXPECT_EQ(Parse(FormatRecord(Example(), kKey, 255)).error(), BadRecord::kUnknownVersion);
}

TEST(RecordTest, WhatIsNoRecordIsForeign) {
  const std::string good = FormatRecord(Example(), kKey);
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(Parse(good.substr(0, size)).error(), BadRecord::kForeign) << size;
  }
  EXPECT_EQ(Parse(std::string(200, 'x')).error(), BadRecord::kForeign);
}

TEST(RecordTest, DamagedSamplesAndThoseOfAnotherPodAreCorrupt) {
  const std::string good = FormatRecord(Example(), kKey);
  EXPECT_EQ(Parse(good, "activescale:{shop/7}:web-1").error(), BadRecord::kCorrupt);
  for (size_t at = 28; at < good.size(); ++at) {
    if (at >= 48 && at < 68) continue;  // the metric without a sample
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    EXPECT_EQ(Parse(bad).error(), BadRecord::kCorrupt) << at;
  }
}

TEST(RecordKeyTest, OneNamespaceSpreadsOverSixteenSlotsAndAKeyStaysInItsOwn) {
  std::set<uint16_t> slots;
  for (int i = 0; i < 500; ++i) {
    const std::string name = "web-" + std::to_string(i);
    const RecordKey key = MakeRecordKey("activescale", {"shop", name});
    EXPECT_EQ(key.slot, redis::KeySlot(key.text));
    EXPECT_TRUE(key.text.starts_with("activescale:{shop/"));
    EXPECT_TRUE(key.text.ends_with("}:" + name));
    slots.insert(key.slot);
  }
  EXPECT_EQ(slots.size(), kTagsPerNamespace);
  EXPECT_EQ(MakeRecordKey("a", {"shop", "web-0"}).text, "a:{shop/7}:web-0") << "docs/store.md";
}

}  // namespace
}  // namespace activescale::store
