#include "source/remote_write.h"

#include <gtest/gtest.h>
#include <snappy.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/fake_clock.h"
#include "io/prometheus/write/v1/remote.pb.h"
#include "series/sample.h"

namespace activescale::source {
namespace {

using io::prometheus::write::v1::WriteRequest;
using Labels = std::vector<std::pair<std::string, std::string>>;

class RemoteWriteTest : public testing::Test {
 protected:
  RemoteWriteTest() {
    (void)series_.Select({*series::Matcher::Make(series::Matcher::Op::kEqual, "__name__", "a")}, 0,
                         0);
  }

  static void Add(WriteRequest& request, const Labels& labels,
                  const std::vector<series::Sample>& samples) {
    auto* const series = request.add_timeseries();
    for (const auto& [name, value] : labels) {
      auto* const label = series->add_labels();
      label->set_name(name);
      label->set_value(value);
    }
    for (const series::Sample& sample : samples) {
      auto* const added = series->add_samples();
      added->set_timestamp(sample.time_ms);
      added->set_value(sample.value);
    }
  }

  static net::HttpRequest Post(std::string_view message) {
    net::HttpRequest request{.method = "POST", .target = "/api/v1/write"};
    request.headers = {{"Content-Encoding", "snappy"},
                       {"Content-Type", "application/x-protobuf"},
                       {"X-Prometheus-Remote-Write-Version", "0.1.0"}};
    snappy::Compress(message.data(), message.size(), &request.body);
    return request;
  }
  int Send(const WriteRequest& request) {
    return write_.Answer(Post(request.SerializeAsString())).status;
  }
  double Samples(const std::string& outcome) {
    return registry_
        .AddCounter("activescale_remote_write_samples_total", "", {{"outcome", outcome}})
        .Value();
  }

  base::FakeClock clock_;
  series::SeriesStore series_{{}, clock_};
  telemetry::Registry registry_;
  RemoteWrite write_{series_, registry_};
};

TEST_F(RemoteWriteTest, TakesWhatSomebodyAsksForAndCountsTheRest) {
  WriteRequest request;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Add(request, {{"__name__", "a"}, {"empty", ""}, {"x", "1"}},
      {{1000, 1}, {2000, nan}, {2000, 5}, {1500, 5}, {3000, series::StaleMarker()}});
  Add(request, {{"__name__", "other"}}, {{1000, 1}});
  EXPECT_EQ(Send(request), 204);
  const auto found = series_.Find({});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0]->labels(), metric::Labels({{"__name__", "a"}, {"x", "1"}}));
  std::vector<std::string> samples;
  found[0]->ForEach(0, 9999, [&](const series::Sample& s) {
    samples.push_back(series::IsStaleMarker(s.value) ? "ended"
                      : std::isnan(s.value)          ? "NaN"
                                                     : std::to_string(int(s.value)));
  });
  EXPECT_EQ(samples, (std::vector<std::string>{"1", "NaN", "ended"}));
  EXPECT_EQ(Samples("stored"), 3);
  EXPECT_EQ(Samples("duplicate"), 1);
  EXPECT_EQ(Samples("out_of_order"), 1);
  EXPECT_EQ(Samples("not_wanted"), 1);
}

TEST_F(RemoteWriteTest, LeavesOutSeriesWithBrokenLabelsAndSaysSo) {
  WriteRequest request;
  Add(request, {{"x", "1"}}, {{1000, 1}});
  Add(request, {{"__name__", "a"}, {"", "1"}}, {{1000, 1}});
  Add(request, {{"__name__", "a"}, {"x", "1"}, {"x", "2"}}, {{1000, 1}});
  Add(request, {{"__name__", "a"}, {"x", "\xff"}}, {{1000, 1}});
  Add(request, {{"__name__", "a"}}, {{1000, 1}});
  const auto response = write_.Answer(Post(request.SerializeAsString()));
  EXPECT_EQ(response.status, 400);
  EXPECT_TRUE(response.body.starts_with("4 series have no name")) << response.body;
  EXPECT_EQ(Samples("stored"), 1);
}

TEST_F(RemoteWriteTest, ABrokenRequestChangesNothing) {
  WriteRequest request;
  Add(request, {{"__name__", "a"}}, {{1000, 1}});
  const std::string good = request.SerializeAsString();
  for (const std::string& message :
       {good + "\x0a\x05", good + "\x0a", good + "\xff\xff\xff", "\x0a\xff\xff\xff\x7f" + good,
        good.substr(0, good.size() - 1)}) {
    EXPECT_EQ(write_.Answer(Post(message)).status, 400);
    EXPECT_EQ(series_.stats().series, 0U) << message.size();
  }
  net::HttpRequest plain = Post(good);
  plain.body = good;
  EXPECT_EQ(write_.Answer(plain).status, 400);
  // A few bytes that claim to be a gigabyte, or are 100 MB of one byte.
  net::HttpRequest bomb = Post(std::string(100'000'000, 'x'));
  EXPECT_EQ(write_.Answer(bomb).status, 413);
  EXPECT_EQ(series_.stats().series, 0U);
}

TEST_F(RemoteWriteTest, OtherProtocolsAndPathsAreRefused) {
  net::HttpRequest newer = Post("");
  newer.headers[1].second = "application/x-protobuf;proto=io.prometheus.write.v2.Request";
  EXPECT_EQ(write_.Answer(newer).status, 415);
  net::HttpRequest gzip = Post("");
  gzip.headers[0].second = "gzip";
  EXPECT_EQ(write_.Answer(gzip).status, 415);
  net::HttpRequest get = Post("");
  get.method = "GET";
  EXPECT_EQ(write_.Answer(get).status, 404);
  net::HttpRequest elsewhere = Post("");
  elsewhere.target = "/api/v1/query";
  EXPECT_EQ(write_.Answer(elsewhere).status, 404);
  net::HttpRequest prefixed = Post("");
  prefixed.target = "/prometheus/api/v1/write?x=1";
  EXPECT_EQ(write_.Answer(prefixed).status, 204);
}

TEST_F(RemoteWriteTest, UnknownFieldsAreSkipped) {
  WriteRequest request;
  Add(request, {{"__name__", "a"}}, {{1000, 1}});
  // Metadata, field 3, as Prometheus sends it.
  const std::string message =
      "\x1a\x03"
      "abc" +
      request.SerializeAsString();
  EXPECT_EQ(write_.Answer(Post(message)).status, 204);
  EXPECT_EQ(Samples("stored"), 1);
}

}  // namespace
}  // namespace activescale::source
