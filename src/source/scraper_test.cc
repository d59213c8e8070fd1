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

const std::vector<net::Header> kPlain = {{"Content-Type", "text/plain"}};

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
  Values Run(const std::string& job, Exposer& exposer, Scraper::Discover discover = {}) {
    for (const std::string name : {"a", "up"}) {
      (void)store_.Select({*series::Matcher::Make(series::Matcher::Op::kEqual, "__name__", name)},
                          0, 0);
    }
    auto jobs =
        ParseScrapeConfig("scrape_configs:\n- {job_name: j, scrape_interval: 200ms, " + job + "}");
    EXPECT_TRUE(jobs) << jobs.error().message;
    Scraper scraper(http_, store_, std::move(discover), clock_, registry_);
    scraper.SetJobs(*std::move(jobs));
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

/// A target that a cluster names is scraped, with its labels.
class DiscoveredTargetTest : public ScraperTest {
 protected:
  void Check(const std::string& job, ClusterTargets::Kind kind, const std::string& service) {
    Exposer exposer(3, [](const HttpRequest&, Reply& reply) { reply.Send(200, "a 1\n", kPlain); });
    const std::string address = exposer.address();
    const std::string port = address.substr(address.find(':') + 1);
    const auto discover =
        [&](const ClusterTargets& asked) -> base::Result<std::vector<Discovered>> {
      EXPECT_EQ(asked.kind, kind);
      EXPECT_EQ(asked.ns, "n");
      EXPECT_EQ(asked.port, port);
      return std::vector<Discovered>{{"127.0.0.1", asked.port_number, "p-0", service}};
    };
    EXPECT_EQ(Run(job + ", namespace: n, port: " + port + "}]", exposer, discover),
              (Values{{"a", 1}, {"up", 1}}));
    EXPECT_EQ(labels_["a"].Get("pod"), "p-0");
    EXPECT_EQ(labels_["a"].Get("namespace"), "n");
    EXPECT_EQ(labels_["a"].Get("service").value_or(""), service);
  }
};

TEST_F(DiscoveredTargetTest, PodsAreTargets) {
  Check("kubernetes_pods: [{selector: app=x", ClusterTargets::Kind::kPods, "");
}

TEST_F(DiscoveredTargetTest, EndpointsOfAServiceAreTargets) {
  Check("kubernetes_endpoints: [{service: s", ClusterTargets::Kind::kEndpoints, "s");
}

TEST_F(ScraperTest, NewJobsKeepWhatIsScrapedAsBeforeAndEndTheRest) {
  (void)store_.Select({*series::Matcher::Make(series::Matcher::Op::kEqual, "__name__", "a")}, 0, 0);
  Scraper scraper(http_, store_, {}, clock_, registry_);
  const auto set = [&](const std::string& yaml) {
    scraper.SetJobs(
        *ParseScrapeConfig("global: {scrape_interval: 400ms}\nscrape_configs: " + yaml));
  };
  std::string kept_job;
  std::string second_job;
  std::atomic<int> kept_seen = 0;
  const FakeHttpServer kept([&](const HttpRequest&, Reply& reply) {
    if (++kept_seen == 2) http_.Post([&] { set("[" + kept_job + "," + second_job + "]"); });
    reply.Send(200, "a 1\n", kPlain);
  });
  const FakeHttpServer leaving(
      [&](const HttpRequest&, Reply& reply) { reply.Send(200, "a 2\n", kPlain); });
  Exposer second(3, [](const HttpRequest&, Reply& reply) { reply.Send(200, "a 3\n", kPlain); });
  const auto job = [](const std::string& name, const std::string& targets) {
    return "{job_name: " + name + ", static_configs: [{targets: [" + targets + "]}]}";
  };
  const std::string kept_address = "'" + kept.url().substr(7) + "'";
  kept_job = job("j", kept_address);
  second_job = job("k", "'" + second.address() + "'");
  set("[" + job("j", kept_address + ", '" + leaving.url().substr(7) + "'") + "]");
  std::thread loop([this] { http_.Run(); });
  second.Wait();
  http_.Stop();
  loop.join();
  std::map<std::string, std::string> values;  // by target; "!" for an end
  for (const auto& series : store_.Find({})) {
    std::string& text = values[std::string(*series->labels().Get("instance"))];
    series->ForEach(series::kMinTime, series::kMaxTime, [&](const series::Sample& sample) {
      text += series::IsStaleMarker(sample.value) ? "!" : std::to_string(int(sample.value));
    });
  }
  EXPECT_EQ(values[kept.url().substr(7)].find('!'), std::string::npos);
  EXPECT_GE(values[kept.url().substr(7)].size(), 3U);
  EXPECT_TRUE(values[leaving.url().substr(7)].ends_with("2!"));
  EXPECT_EQ(values[second.address()], "33");
}

}  // namespace
}  // namespace activescale::source
