#include "series/chunk.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "series/series.h"

namespace activescale::series {
namespace {

void ExpectReadsBack(const std::vector<Sample>& samples) {
  Chunk chunk;
  for (const Sample& sample : samples) chunk.Append(sample);
  ChunkReader reader(chunk);
  Sample got;
  for (const Sample& want : samples) {
    ASSERT_TRUE(reader.Next(got));
    ASSERT_EQ(got.time_ms, want.time_ms);
    ASSERT_EQ(std::bit_cast<uint64_t>(got.value), std::bit_cast<uint64_t>(want.value))
        << "at " << want.time_ms << ", value " << want.value;
  }
  EXPECT_FALSE(reader.Next(got));
}

TEST(ChunkTest, EveryBitOfOddValuesComesBack) {
  const double odd[] = {0.0,
                        -0.0,
                        1,
                        -1,
                        -0.0,
                        7,
                        8,
                        0,
                        255,
                        -1,
                        512,
                        1e300,
                        -1e300,
                        std::nan(""),
                        StaleMarker(),
                        INFINITY,
                        -INFINITY,
                        9007199254740991.0,
                        9007199254740992.0,
                        9007199254740994.0,
                        5e-324,
                        0.1,
                        0.2};
  std::vector<Sample> samples;
  int64_t time = 0;
  for (const double a : odd) {
    for (const double b : odd) {
      samples.push_back({time += 5000, a});
      samples.push_back({time += 5000, b});
    }
  }
  ExpectReadsBack(samples);
}

TEST(ChunkTest, AnyDistanceBetweenTimestampsComesBack) {
  std::vector<Sample> samples{{kMinTime, 1}};
  int64_t time = -1'000'000'000'000;
  for (int bits = 0; bits < 60; ++bits) {
    samples.push_back({time += int64_t{1} << (bits / 2), 1});
    samples.push_back({time += 1, 2});
  }
  samples.push_back({kMaxTime, 3});
  ExpectReadsBack(samples);
}

TEST(ChunkTest, RandomSeriesComeBack) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Sample> samples;
    Sample sample{static_cast<int64_t>(random() % 1'000'000), 0};
    const uint64_t kind = random() % 4;
    for (int i = 0; i < 150; ++i) {
      sample.time_ms += 1 + static_cast<int64_t>(random() % (kind < 2 ? 10'000 : 3));
      if (kind == 0) sample.value += static_cast<double>(random() % 9) - 4;
      if (kind == 1) sample.value = std::bit_cast<double>(random());
      if (kind == 2) sample.value += 0.25 * static_cast<double>(random() % 3);
      if (kind == 3 && random() % 4 == 0) sample.value = static_cast<double>(random() % 100);
      samples.push_back(sample);
    }
    ExpectReadsBack(samples);
  }
}

/// Gauges of a busy machine as a scraper would see them: counts of running and waiting work,
/// connections, memory; one reading in about a second, with the jitter of a real timer.
TEST(ChunkTest, RecordedGaugesTakeLittleSpace) {
  std::ifstream file(std::string(SERIES_TESTDATA) + "/gauges.csv");
  ASSERT_TRUE(file);
  std::string line;
  std::getline(file, line);
  std::vector<std::unique_ptr<Series>> gauges;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string field;
    std::getline(fields, field, ',');
    const int64_t time = std::stoll(field);
    for (size_t i = 0; std::getline(fields, field, ','); ++i) {
      if (i == gauges.size()) gauges.push_back(std::make_unique<Series>(metric::Labels()));
      ASSERT_EQ(gauges[i]->Append({time, std::stod(field)}).result, Series::AppendResult::kOk);
    }
  }
  size_t samples = 0;
  size_t bytes = 0;
  for (const auto& gauge : gauges) {
    samples += gauge->sample_count();
    bytes += gauge->encoded_bytes();
  }
  ASSERT_GT(samples, 2000U);
  const double bytes_a_sample = static_cast<double>(bytes) / static_cast<double>(samples);
  RecordProperty("bytes_a_sample", std::to_string(bytes_a_sample));
  EXPECT_LE(bytes_a_sample, 2.5);
}

}  // namespace
}  // namespace activescale::series
