#include "kube/watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include <boost/json/serialize.hpp>

#include "kube/json.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/loop_thread.h"

namespace activescale::kube {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Pods = std::map<std::string, std::string>;

constexpr const char* kList = "LIST /api/v1/pods";
constexpr const char* kWatch = "WATCH /api/v1/pods";

/// Keeps each object's name and label `v`.
class MapSink final : public ObjectSink {
 public:
  void Upsert(const boost::json::object& object) override {
    base::MutexLock lock(mutex_);
    pods_[std::string(FindString(object, {"metadata", "name"}))] =
        FindString(object, {"metadata", "labels", "v"});
  }
  void Remove(std::string_view, std::string_view name) override {
    base::MutexLock lock(mutex_);
    pods_.erase(std::string(name));
  }
  Pods pods() const {
    base::MutexLock lock(mutex_);
    return pods_;
  }

 private:
  mutable base::Mutex mutex_;
  Pods pods_ GUARDED_BY(mutex_);
};

std::string Pod(std::string_view name, std::string_view value, std::string_view version = "1") {
  return ObjectJson("ns", name,
                    R"("resourceVersion":")" + std::string(version) + R"(","labels":{"v":")" +
                        std::string(value) + "\"}");
}

class WatcherTest : public ::testing::Test {
 protected:
  ~WatcherTest() override { loop_.Stop(); }

  /// `silence` is short only where a test needs it: a busy machine is silent too.
  void Start(milliseconds silence = milliseconds(20'000)) {
    Watcher::Options options;
    options.list_watch.page_size = 2;
    options.list_watch.backoff_min = milliseconds(2);
    options.list_watch.backoff_max = milliseconds(10);
    options.watch_silence = silence;
    options.list_silence = silence;
    options.max_object_bytes = 5000;
    api_ = std::make_unique<ApiClient>(loop_.http(), access_, clock_);
    watcher_ = std::make_unique<Watcher>(
        *api_,
        WatchTarget{.resource = "pods",
                    .path = "/api/v1/pods",
                    .label_selector = {},
                    .field_selector = "status.phase!=Failed",
                    .metadata_only = false,
                    .mask = {"metadata.labels"}},
        sink_, registry_, clock_, [] { return 0.5; }, options);
    watcher_->Start();
    watcher_->Start();
  }

  bool Becomes(const Pods& pods) {
    return Eventually([&] { return sink_.pods() == pods && watcher_->status().synced; });
  }

  double Metric(const std::string& line) {
    const std::string text = registry_.Render();
    const size_t at = text.find(line);
    return at == std::string::npos ? -1 : std::stod(text.substr(at + line.size()));
  }

  FakeApiServer server_;
  ClusterAccess access_ = server_.access();
  base::SystemClock clock_;
  telemetry::Registry registry_;
  MapSink sink_;
  LoopThread loop_;
  std::unique_ptr<ApiClient> api_;
  std::unique_ptr<Watcher> watcher_;
};

TEST_F(WatcherTest, ListsInPagesThenFollowsChanges) {
  server_.On(kList, Respond(200, ListJson({Pod("a", "1"), Pod("b", "1")}, "5", "next/page")));
  server_.On(kList, Respond(200, ListJson({Pod("c", "1")}, "5")));
  server_.On(kWatch, WatchAndHang({EventJson("MODIFIED", Pod("a", "2", "6")),
                                   EventJson("DELETED", Pod("b", "1", "7")),
                                   EventJson("ADDED", Pod("d", "1", "8"))}));
  Start();
  EXPECT_TRUE(Becomes({{"a", "2"}, {"c", "1"}, {"d", "1"}}));
  const auto lists = server_.Requests(kList);
  ASSERT_EQ(lists.size(), 2U);
  EXPECT_EQ(lists[0].target, "/api/v1/pods?limit=2&fieldSelector=status.phase%21%3DFailed");
  EXPECT_THAT(lists[1].target, HasSubstr("limit=2&continue=next%2Fpage"));
  EXPECT_THAT(server_.Requests(kWatch)[0].target,
              HasSubstr("watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds="));
  EXPECT_EQ(Metric(R"(activescale_kube_lists_total{reason="first",resource="pods"} )"), 1);
}

TEST_F(WatcherTest, ASilentWatchIsTakenUpAgainFromItsBookmarkOnAFreshConnection) {
  server_.On(kList, Respond(200, ListJson({Pod("a", "1")}, "5")));
  server_.On(kWatch, WatchAndHang({BookmarkJson("77")}));
  server_.On(kWatch, WatchAndHang({EventJson("ADDED", Pod("b", "1", "78"))}));
  Start(milliseconds(50));
  EXPECT_TRUE(Becomes({{"a", "1"}, {"b", "1"}}));
  EXPECT_THAT(server_.Requests(kWatch)[1].target, HasSubstr("resourceVersion=77&"));
  EXPECT_GE(server_.connections(), 2U);
  EXPECT_GE(Metric(R"(activescale_kube_watch_failures_total{reason="deadline",resource="pods"} )"),
            1);
}

/// A version that has expired: as an answer, and as an event in the stream.
class WatcherExpiryTest : public WatcherTest, public ::testing::WithParamInterface<bool> {};

TEST_P(WatcherExpiryTest, ListsAgainAndDropsWhatIsGone) {
  server_.On(kList, Respond(200, ListJson({Pod("a", "1"), Pod("b", "1")}, "5")));
  server_.On(kList, Respond(200, ListJson({Pod("b", "2")}, "9")));
  const std::string expired = StatusJson(410, "Expired", "too old resource version");
  server_.On(kWatch,
             GetParam() ? WatchAndEnd({EventJson("ERROR", expired)}) : Respond(410, expired));
  server_.On(kWatch, WatchAndHang({}));
  Start();
  EXPECT_TRUE(Becomes({{"b", "2"}}));
  EXPECT_EQ(Metric(R"(activescale_kube_lists_total{reason="expired",resource="pods"} )"), 1);
}

INSTANTIATE_TEST_SUITE_P(InStream, WatcherExpiryTest, ::testing::Bool());

TEST_F(WatcherTest, WhatIsNotUnderstoodChangesNothingAndIsCounted) {
  server_.On(kList, Respond(200, ListJson({Pod("a", "1"), R"({"metadata":{}})"}, "5")));
  server_.On(kWatch, WatchAndHang({EventJson("RENAMED", Pod("a", "2", "6")), "{}\n", "[1]\n",
                                   EventJson("ADDED", "[]"), EventJson("ADDED", "{}"),
                                   EventJson("ADDED", Pod("b", "1", "7"))}));
  Start();
  EXPECT_TRUE(Becomes({{"a", "1"}, {"b", "1"}}));
  EXPECT_EQ(Metric(R"(activescale_kube_watch_events_total{resource="pods",type="unusable"} )"), 6);
}

TEST_F(WatcherTest, FaultsOfAListAreTriedAgainUntilItIsWhole) {
  const std::string list = ListJson({Pod("a", "1")}, "5");
  server_.On(kList, Respond(403, StatusJson(403, "Forbidden", "pods is forbidden")));
  server_.On(kList, Respond(500, "<html>"));
  server_.On(kList, Respond(200, "<html>"));
  server_.On(kList, Respond(200, list.substr(0, list.size() - 10)));
  server_.On(kList, Respond(200, "{}"));
  server_.On(kList, Respond(200, ListJson({Pod("x", std::string(60'000, 'x'))}, "5")));
  server_.On(kList, [](const auto&, FakeApiServer::Reply& reply) { reply.Close(); });
  server_.On(kList, Respond(200, list));
  server_.On(kWatch, WatchAndHang({}));
  Start();
  EXPECT_TRUE(Becomes({{"a", "1"}}));
  EXPECT_EQ(server_.Requests(kList).size(), 8U);
  EXPECT_EQ(watcher_->status().last_error, "");
  const auto failures = [this](const std::string& kind) {
    return Metric("activescale_kube_watch_failures_total{reason=\"" + kind +
                  "\",resource=\"pods\"} ");
  };
  EXPECT_EQ(failures("status"), 2);
  EXPECT_GE(failures("garbage"), 4);
  EXPECT_GE(failures("connection"), 1);
}

TEST_F(WatcherTest, AListThatStopsInTheMiddleIsAskedForAgain) {
  const std::string list = ListJson({Pod("a", "1")}, "5");
  server_.On(kList, [&list](const auto&, FakeApiServer::Reply& reply) {
    reply.Start(200);
    reply.Chunk(list.substr(0, 20));
    reply.Hang();
  });
  server_.On(kList, Respond(200, list));
  server_.On(kWatch, WatchAndHang({}));
  Start(milliseconds(50));
  EXPECT_TRUE(Becomes({{"a", "1"}}));
}

TEST_F(WatcherTest, FaultsOfAWatchKeepTheObjectsAndGoOnFromTheLastVersion) {
  const std::string event = EventJson("ADDED", Pod("b", "1", "6"));
  server_.On(kList, Respond(200, ListJson({Pod("a", "1")}, "5")));
  server_.On(kWatch, WatchAndEnd({event, "<html>"}));
  server_.On(kWatch, WatchAndEnd({event.substr(0, 30)}));
  server_.On(kWatch, WatchAndEnd({BookmarkJson("6"), R"({"type":")", std::string(60'000, 'x')}));
  server_.On(kWatch, Respond(500, "down"));
  server_.On(kWatch, [](const auto&, FakeApiServer::Reply& reply) {
    reply.Start(200);
    reply.Chunk("{\"type\":");
    reply.Close();
  });
  server_.On(kWatch, WatchAndHang({EventJson("ADDED", Pod("c", "1", "7"))}));
  Start();
  EXPECT_TRUE(Becomes({{"a", "1"}, {"b", "1"}, {"c", "1"}}));
  EXPECT_EQ(server_.Requests(kList).size(), 1U);
  for (size_t i = 1; i < 6; ++i) {
    EXPECT_THAT(server_.Requests(kWatch)[i].target, HasSubstr("resourceVersion=6&")) << i;
  }
}

TEST_F(WatcherTest, AVersionThatTheServerRefusesAgainAndAgainIsListedAnew) {
  const std::string error = StatusJson(504, "Timeout", "Too large resource version");
  server_.On(kList, Respond(200, ListJson({Pod("a", "1")}, "500")));
  server_.On(kList, Respond(200, ListJson({Pod("b", "1")}, "5")));
  for (int i = 0; i < 3; ++i) server_.On(kWatch, WatchAndEnd({EventJson("ERROR", error)}));
  server_.On(kWatch, WatchAndHang({}));
  Start();
  EXPECT_TRUE(Becomes({{"b", "1"}}));
  EXPECT_EQ(Metric(R"(activescale_kube_lists_total{reason="refused",resource="pods"} )"), 1);
}

TEST_F(WatcherTest, ARefusedTokenIsReadAgain) {
  std::string dir = ::testing::TempDir() + "/watcher.XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  const std::string path = dir + "/token";
  std::ofstream(path) << "old";
  access_.token_file = path;
  server_.On(kList, [&](const net::HttpRequest&, FakeApiServer::Reply& reply) {
    std::ofstream(path) << "new";
    reply.Send(401, StatusJson(401, "Unauthorized", "expired"));
  });
  server_.On(kList, Respond(200, ListJson({Pod("a", "1")}, "5")));
  server_.On(kWatch, WatchAndHang({}));
  Start();
  EXPECT_TRUE(Becomes({{"a", "1"}}));
  EXPECT_EQ(server_.Requests(kList)[0].FindHeader("Authorization"), "Bearer old");
  EXPECT_EQ(server_.Requests(kList)[1].FindHeader("Authorization"), "Bearer new");
  std::filesystem::remove_all(dir);
}

TEST_F(WatcherTest, SaysWhatIsWrongUntilTheFirstList) {
  server_.On(kList, Respond(403, StatusJson(403, "Forbidden", "pods is forbidden: no list")));
  Start();
  ASSERT_TRUE(Eventually([&] { return !watcher_->status().last_error.empty(); }));
  const WatchStatus status = watcher_->status();
  EXPECT_FALSE(status.synced);
  EXPECT_FALSE(status.last_contact.has_value());
  EXPECT_THAT(status.last_error, HasSubstr("403: pods is forbidden: no list; grant it by RBAC"));
}

}  // namespace
}  // namespace activescale::kube
