#include "source/scraper.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "net/testing/fake_http_server.h"

namespace activescale::source {
namespace {

using Entries = std::vector<metric::Labels::Entry>;

using net::FakeHttpServer;
using net::HttpRequest;
using Reply = FakeHttpServer::Reply;
using Values = std::map<std::string, double>;

std::string Gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// Answers its scrapes but the last, and tells when that comes: those before it are over then,
/// because a target is asked one thing at a time.
class Exposer {
 public:
  Exposer(int enough, FakeHttpServer::Handler handler)
      : enough_(enough), server_([this, handler](const HttpRequest& request, Reply& reply) {
          const int turn = ++seen_;
          if (turn < enough_) return handler(request, reply);
          if (turn == enough_) done_.set_value();
          reply.Hang();
        }) {}
  [[nodiscard]] std::string address() const { return server_.url().substr(7); }
  void Wait() { done_.get_future().wait(); }

 private:
  const int enough_;
  std::atomic<int> seen_ = 0;
  std::promise<void> done_;
  FakeHttpServer server_;
};

class ScraperTest : public testing::Test {
 protected:
  /// Scrapes until `exposer` was asked often enough; then the newest value of each series by its
  /// name, and those that have ended by name and "!".
  Values Run(const std::string& job, Exposer& exposer, Scraper::FindPods find_pods = {}) {
    for (const std::string name : {"a", "up"}) {
      (void)store_.Select({*series::Matcher::Make(series::Matcher::Op::kEqual, "__name__", name)},
                          0, 0);
    }
    auto jobs =
        ParseScrapeConfig("scrape_configs:\n- {job_name: j, scrape_interval: 200ms, " + job + "}");
    EXPECT_TRUE(jobs) << jobs.error().message;
    Scraper scraper(*std::move(jobs), http_, store_, std::move(find_pods), clock_, registry_);
    scraper.Start();
    std::thread loop([this] { http_.Run(); });
    exposer.Wait();
    http_.Stop();
    loop.join();
    Values values;
    for (const auto& series : store_.Find({})) {
      series->ForEach(series::kMinTime, series::kMaxTime, [&](const series::Sample& sample) {
        const std::string name(*series->labels().Get("__name__"));
        labels_[name] = series->labels();
        times_ms_.push_back(sample.time_ms);
        if (series::IsStaleMarker(sample.value)) {
          values[name + "!"] = 1;
        } else {
          values[name] = sample.value;
        }
      });
    }
    return values;
  }
  static std::string Static(const Exposer& exposer) {
    return "static_configs: [{targets: ['" + exposer.address() + "']}]";
  }
  double Scrapes(const std::string& result) {
    return registry_.AddCounter("activescale_scrapes_total", "", {{"result", result}}).Value();
  }

  base::SystemClock clock_;
  series::SeriesStore store_{{}, clock_};
  telemetry::Registry registry_;
  net::HttpClient http_;
  std::map<std::string, metric::Labels> labels_;
  std::vector<int64_t> times_ms_;
};

TEST_F(ScraperTest, TakesWhatATargetExposesAtTimesThatEveryReplicaHas) {
  std::string accept;
  Exposer exposer(2, [&](const HttpRequest& request, Reply& reply) {
    accept = request.FindHeader("accept");
    reply.Send(200, "a 7\n# EOF\n",
               {{"Content-Type", "application/openmetrics-text; version=1.0.0"}});
  });
  EXPECT_EQ(Run(Static(exposer), exposer), (Values{{"a", 7}, {"up", 1}}));
  EXPECT_EQ(labels_["a"],
            metric::Labels({{"__name__", "a"}, {"instance", exposer.address()}, {"job", "j"}}));
  EXPECT_TRUE(accept.starts_with("application/openmetrics-text;version=1.0.0")) << accept;
  for (const int64_t time_ms : times_ms_) EXPECT_EQ(time_ms % 200, times_ms_[0] % 200);
}

TEST_F(ScraperTest, ReadsACompressedAnswerWithTheToken) {
  const std::string path = testing::TempDir() + "/scraper-test-token";
  std::ofstream(path) << "s3cret\n";
  std::string authorization;
  Exposer exposer(2, [&](const HttpRequest& request, Reply& reply) {
    authorization = request.FindHeader("authorization");
    reply.Send(200, Gzip("a 7\n"),
               {{"Content-Type", "text/plain; version=0.0.4"}, {"Content-Encoding", "gzip"}});
  });
  EXPECT_EQ(Run("authorization: {credentials_file: " + path + "}, " + Static(exposer), exposer),
            (Values{{"a", 7}, {"up", 1}}));
  EXPECT_EQ(authorization, "Bearer s3cret");
}

TEST_F(ScraperTest, EveryKindOfFaultIsCountedAndMeansDown) {
  const std::vector<net::Header> text = {{"Content-Type", "text/plain"}};
  std::atomic<int> turn = 0;
  Exposer exposer(8, [&](const HttpRequest&, Reply& reply) {
    switch (turn++) {
      case 0:
        return reply.Send(200, "a 1\n", text);
      case 1:
        return reply.Send(500, "a 2\n", text);
      case 2:
        return reply.Send(200, "<html>", {{"Content-Type", "text/html"}});
      case 3:
        return reply.Send(200, "a{ 1\n", text);
      case 4:  // a megabyte in a thousand bytes
        return reply.Send(200, Gzip("a 1\n" + std::string(1 << 20, '\n')),
                          {{"Content-Type", "text/plain"}, {"Content-Encoding", "gzip"}});
      case 5:
        reply.Raw("nonsense\r\n\r\n");
        return reply.Close();
      default:
        return reply.Hang();
    }
  });
  const Values values = Run("body_size_limit: 64Ki, " + Static(exposer), exposer);
  EXPECT_EQ(values, (Values{{"a", 1}, {"a!", 1}, {"up", 0}}));
  EXPECT_EQ(Scrapes("taken"), 1);
  EXPECT_EQ(Scrapes("status"), 1);
  EXPECT_EQ(Scrapes("content_type"), 1);
  EXPECT_EQ(Scrapes("malformed_label"), 1);
  EXPECT_GE(Scrapes("unreachable"), 3);
}

TEST_F(ScraperTest, PodsAreTargets) {
  Exposer exposer(3, [](const HttpRequest&, Reply& reply) {
    reply.Send(200, "a 1\n", {{"Content-Type", "text/plain"}});
  });
  const std::string address = exposer.address();
  const std::string port = address.substr(address.find(':') + 1);
  const Values values =
      Run("kubernetes_pods: [{namespace: n, selector: app=x, port: " + port + "}]", exposer,
          [](std::string_view ns,
             const metric::Selector& selector) -> base::Result<std::vector<PodAddress>> {
            EXPECT_EQ(ns, "n");
            EXPECT_TRUE(selector.Matches(metric::Labels(Entries{{"app", "x"}})));
            return std::vector<PodAddress>{{"p-0", "127.0.0.1"}};
          });
  EXPECT_EQ(values, (Values{{"a", 1}, {"up", 1}}));
  EXPECT_EQ(labels_["a"].Get("pod"), "p-0");
  EXPECT_EQ(labels_["a"].Get("namespace"), "n");
}

}  // namespace
}  // namespace activescale::source
