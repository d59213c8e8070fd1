#include "insight/dashboard_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/testing/fake_clock.h"
#include "insight/dashboard_handler.h"
#include "kube/testing/fake_pod_index.h"
#include "store/testing/fake_store.h"

namespace activescale::insight {
namespace {

using metric::MetricKind;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const metric::PodKey kPod{"shop", "web-0"};

/// Work of the feed's thread waits in `posted_` until Run.
class DashboardFeedTest : public testing::Test {
 protected:
  DashboardFeedTest() {
    pods_.AddPod(kPod);
    pods_.SetWorkloadOf(kPod, "web");
    SetLoad(3);
    checks_.Add("store", [this] {
      ++checked_;
      return telemetry::CheckResult{true, "embedded"};
    });
  }

  void SetLoad(double value) {
    for (const auto kind : {MetricKind::kInboundActiveRequests, MetricKind::kOutboundActiveRequests,
                            MetricKind::kActiveConnections}) {
      store_.SetValue(kPod, kind, value, clock_.Now());
    }
  }
  void Run() {
    while (!posted_.empty()) {
      auto work = std::move(posted_.front());
      posted_.pop_front();
      work();
    }
  }
  void Tick(milliseconds after = seconds(1)) {
    clock_.Advance(after);
    feed_.Tick();
    Run();
  }
  /// The events that came since, as "name: data".
  static std::vector<std::string> Events(net::HttpStream& stream) {
    std::vector<std::string> events;
    for (const auto& piece : stream.Take()) {
      const std::string& text = *piece;
      EXPECT_THAT(text, StartsWith("event: "));
      const size_t line = text.find("\ndata: ");
      EXPECT_EQ(text.find("\n\n"), text.size() - 2) << "one event is one piece";
      events.push_back(text.substr(7, line - 7) + ": " +
                       text.substr(line + 7, text.size() - line - 9));
    }
    return events;
  }
  static boost::json::value Data(const std::string& event) {
    return boost::json::parse(event.substr(event.find(": ") + 2));
  }
  double OpenPages() {
    return registry_
        .AddGauge("activescale_dashboard_open_pages", "Pages of the dashboard that are open.")
        .Value();
  }

  base::FakeClock clock_;
  kube::FakePodIndex pods_;
  store::FakeStore store_;
  telemetry::HealthChecks checks_;
  telemetry::Registry registry_;
  int checked_ = 0;
  std::deque<std::move_only_function<void()>> posted_;
  DashboardFeed feed_{
      {.facts = {.version = "1", .pods_from = "a test", .no_hpas = "a test"},
       .ttl = seconds(20),
       .pods = pods_,
       .store = store_,
       .checks = checks_,
       .streams = [] { return std::vector<ReplicaStreams>{{"here", 1}}; },
       .clock = clock_,
       .registry = registry_,
       .post =
           [this](std::move_only_function<void()> work) { posted_.push_back(std::move(work)); }}};
};

TEST_F(DashboardFeedTest, APageGetsTheWholeAtOnceAndThenWhatChanges) {
  const auto page = feed_.WatchOverview();
  Run();
  auto events = Events(*page);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_THAT(events[0], StartsWith("overview: "));
  EXPECT_EQ(boost::json::serialize(Data(events[0]).at("rows").at(0).at("values")), "[3,3,3]");
  EXPECT_EQ(Data(events[0]).at("rows").at(0).at("heard"), true);

  Tick();
  EXPECT_THAT(Events(*page), ElementsAre(R"(change: {"at":1000001000,"rows":[],"gone":[]})"));
  SetLoad(4);
  Tick();
  events = Events(*page);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(boost::json::serialize(Data(events[0]).at("rows").at(0).at("values")), "[4,4,4]");
}

TEST_F(DashboardFeedTest, AHundredPagesShareOneReadingAndOneDocument) {
  std::vector<std::shared_ptr<net::HttpStream>> pages;
  for (int i = 0; i < 100; ++i) pages.push_back(feed_.WatchOverview());
  Run();
  EXPECT_EQ(store_.reads(), 3) << "one of each metric";
  EXPECT_EQ(checked_, 1);
  EXPECT_EQ(OpenPages(), 100);
  for (const auto& page : pages) EXPECT_EQ(page->Take().size(), 1U);
  Tick();
  EXPECT_EQ(store_.reads(), 6);
  std::vector<const std::string*> texts;
  for (const auto& page : pages) {
    for (const auto& piece : page->Take()) texts.push_back(piece.get());
  }
  ASSERT_EQ(texts.size(), 100U);
  EXPECT_EQ(std::count(texts.begin(), texts.end(), texts[0]), 100);
  // One more in the same second costs no reading.
  const auto late = feed_.WatchOverview();
  EXPECT_EQ(store_.reads(), 6);
  EXPECT_THAT(Events(*late)[0], StartsWith("overview: "));
}

TEST_F(DashboardFeedTest, NobodyLookingIsOneReadingAStepOfTheHistory) {
  for (int i = 0; i < 60; ++i) Tick();
  EXPECT_NEAR(store_.reads() / 3, 12, 1);
  EXPECT_EQ(checked_, 0);
  EXPECT_THAT(feed_.History({{"shop", "web"}}, 0), HasSubstr("3,3,3,3,3,3,3,3,3,3]"));
}

TEST_F(DashboardFeedTest, APageThatWasClosedOrDoesNotReadIsForgotten) {
  const auto closed = feed_.WatchOverview();
  const auto deaf = feed_.WatchOverview();
  const auto reader = feed_.WatchOverview();
  Run();
  closed->Close();
  auto filler = std::make_shared<const std::string>(DashboardFeed::kMaxUnsentBytes, 'x');
  EXPECT_FALSE(deaf->Send(filler)) << "more than a page may leave unread";
  Tick();
  EXPECT_EQ(OpenPages(), 1);
  EXPECT_EQ(deaf->state(), net::HttpStream::State::kOverflow);
  EXPECT_EQ(Events(*reader).size(), 2U);
}

TEST_F(DashboardFeedTest, APageOfAWorkloadGetsItEachSecond) {
  const auto page = feed_.WatchWorkload("shop", "web");
  const auto other = feed_.WatchWorkload("shop", "none");
  Run();
  auto events = Events(*page);
  ASSERT_FALSE(events.empty());
  EXPECT_THAT(events.back(), StartsWith("workload: "));
  EXPECT_EQ(Data(events.back()).at("pods").at(0).at("name"), "web-0");
  EXPECT_EQ(Data(Events(*other).back()).at("known"), false);
  Tick();
  EXPECT_EQ(Events(*page).size(), 1U);
  // Who comes within the same second gets what was read.
  const int reads = store_.reads();
  const auto late = feed_.WatchWorkload("shop", "web");
  EXPECT_EQ(Events(*late).size(), 1U);
  EXPECT_EQ(store_.reads(), reads);
  page->Close();
  other->Close();
  late->Close();
  Tick();
  EXPECT_EQ(OpenPages(), 0);
}

TEST_F(DashboardFeedTest, WhatCannotBeReadIsToldAndNeverShownAsZero) {
  const auto page = feed_.WatchOverview();
  Run();
  static_cast<void>(page->Take());
  store_.Fail(base::Error{base::Code::kUnavailable, "no Redis"});
  Tick();
  std::string event = Events(*page).back();
  EXPECT_THAT(event, HasSubstr("the store does not answer: no Redis"));
  EXPECT_THAT(event, HasSubstr(R"("values":[null,null,null])"));
  EXPECT_THAT(event, HasSubstr(R"("pods":[1,1,0])"));
  store_.Fail(std::nullopt);
  store_.SetPartial(true);
  Tick();
  EXPECT_THAT(Events(*page).back(), HasSubstr("a part of the store"));
  store_.SetPartial(false);
  pods_.Fail(base::Error{base::Code::kUnavailable, "not listed yet"});
  Tick();
  event = Events(*page).back();
  EXPECT_THAT(event, HasSubstr("the pods are not known: not listed yet"));
  EXPECT_THAT(event, HasSubstr(R"("gone":[["shop","web"]])"));
  pods_.Fail(std::nullopt);
  Tick();
  event = Events(*page).back();
  EXPECT_THAT(event, HasSubstr(R"("problem":"")"));
  EXPECT_THAT(event, HasSubstr(R"("values":[3,3,3])"));
}

TEST_F(DashboardFeedTest, AStoreThatIsSlowIsNotAskedTwice) {
  std::vector<std::move_only_function<void()>> answers;
  store_.HoldAnswers(
      [&answers](std::move_only_function<void()> answer) { answers.push_back(std::move(answer)); });
  const auto page = feed_.WatchOverview();
  Tick();
  Tick();
  EXPECT_EQ(answers.size(), 3U);
  EXPECT_TRUE(page->Take().empty());
  for (auto& answer : answers) answer();
  Run();
  EXPECT_EQ(page->Take().size(), 1U);
}

// ------------------------------------------------------------ the same over HTTP

class DashboardHandlerTest : public DashboardFeedTest {
 protected:
  net::HttpResponse Ask(const std::string& target, const std::string& host = "localhost:18081",
                        const std::string& method = "GET") {
    net::HttpRequest request{.method = method, .target = target, .headers = {{"host", host}}};
    net::HttpResponse answer;
    answer.status = 0;
    handler_.Handle(std::move(request),
                    [&answer](net::HttpResponse response) { answer = std::move(response); });
    return answer;
  }
  double Refused(const std::string& reason) {
    return registry_
        .AddCounter("activescale_dashboard_refused_requests_total",
                    "Requests that the dashboard refused, by reason.", {{"reason", reason}})
        .Value();
  }

  static constexpr PageFile kFiles[] = {{"/", "text/html", "<!doctype html>"},
                                        {"/app.js", "text/javascript", "1"}};
  DashboardHandler handler_{{}, kFiles, feed_, registry_};
};

TEST_F(DashboardHandlerTest, ServesItsFilesWithHeadersThatForbidAllElse) {
  const auto page = Ask("/?x=1");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body, "<!doctype html>");
  EXPECT_EQ(page.content_type, "text/html");
  std::string headers;
  for (const auto& [name, value] : page.headers) headers += name + ": " + value + "\n";
  EXPECT_THAT(headers, HasSubstr("default-src 'none'; script-src 'self'"));
  EXPECT_THAT(headers, Not(HasSubstr("unsafe")));
  EXPECT_THAT(headers, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(headers, HasSubstr("nosniff"));
  EXPECT_EQ(Ask("/app.js").body, "1");
}

TEST_F(DashboardHandlerTest, StreamsEventsAndTellsHistories) {
  const auto overview = Ask("/events");
  Run();
  EXPECT_EQ(overview.content_type, "text/event-stream");
  ASSERT_TRUE(overview.stream);
  EXPECT_THAT(Events(*overview.stream)[0], StartsWith("overview: "));
  const auto workload = Ask("/events/shop/we%62");
  ASSERT_TRUE(workload.stream);
  EXPECT_EQ(Data(Events(*workload.stream)[0]).at("name"), "web");
  EXPECT_FALSE(Ask("/events", "localhost", "HEAD").stream);

  const auto history = boost::json::parse(Ask("/history/0/shop/web/shop/a%2Fb").body);
  EXPECT_EQ(history.at("workloads").at(0).at("name"), "web");
  EXPECT_EQ(history.at("workloads").at(1).at("name"), "a/b");
  EXPECT_TRUE(boost::json::parse(Ask("/history/all/shop/web").body)
                  .at("workloads")
                  .at(0)
                  .as_object()
                  .contains("pods"));
}

TEST_F(DashboardHandlerTest, WhatIsNotThereOrNotAskedRightIsRefusedAndCounted) {
  std::string many = "/history/0";
  for (size_t i = 0; i <= DashboardHandler::kMaxHistories; ++i) many += "/ns/name";
  const struct {
    std::string target;
    std::string method;
    int status;
  } cases[] = {{"/nothing", "GET", 404},
               {"/events/shop", "GET", 404},
               {"/events/shop/web/more", "GET", 404},
               {"/history", "GET", 400},
               {"/history/0/shop", "GET", 400},
               {"/history/3/shop/web", "GET", 400},
               {"/history/-1/shop/web", "GET", 400},
               {many, "GET", 400},
               {"/%zz", "GET", 400},
               {"nothing", "GET", 400},
               {"/", "POST", 405},
               {"/events", "DELETE", 405}};
  double refused = 0;
  for (const auto& c : cases) {
    EXPECT_EQ(Ask(c.target, "localhost", c.method).status, c.status) << c.target;
    EXPECT_EQ(Refused("request"), ++refused) << c.target;
  }
  EXPECT_EQ(OpenPages(), 0);
}

TEST_F(DashboardHandlerTest, ANameThatSomebodyElseMadePointHereIsRefused) {
  EXPECT_EQ(Ask("/events", "evil.example:18081").status, 403);
  EXPECT_EQ(Ask("/", "").status, 403);
  EXPECT_EQ(Refused("host"), 2);
  EXPECT_EQ(OpenPages(), 0);
}

TEST(HostRulesTest, LoopbackByEveryNameAndNothingElse) {
  const HostRules loopback;
  for (const char* ours : {"localhost", "LocalHost:80", "localhost.", "127.0.0.1", "127.0.0.1:9",
                           "127.1.2.3", "[::1]", "[::1]:18081"}) {
    EXPECT_TRUE(IsOurHost(ours, loopback)) << ours;
  }
  for (const char* other :
       {"", ":80", "localhost.evil.example", "evil.example", "127.0.0.1.evil.example", "10.0.0.5",
        "[fd00::1]", "0.0.0.0", "notlocalhost", "[", "[]", "evil.example:127.0.0.1"}) {
    EXPECT_FALSE(IsOurHost(other, loopback)) << other;
  }
  const HostRules open{.any_address = true, .names = {"activescale.ops.svc"}};
  for (const char* ours :
       {"10.0.0.5:18081", "[fd00::1]:1", "activescale.ops.svc:443", "localhost"}) {
    EXPECT_TRUE(IsOurHost(ours, open)) << ours;
  }
  for (const char* other :
       {"evil.example", "activescale.ops.svc.evil.example", "10.0.0.5.nip.io"}) {
    EXPECT_FALSE(IsOurHost(other, open)) << other;
  }
}

}  // namespace
}  // namespace activescale::insight
