#include "net/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "net/testing/fake_http_server.h"

namespace activescale::net {
namespace {

using base::Code;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using Reply = FakeHttpServer::Reply;
using Outcome = base::Result<ClientResponse>;

/// A client with its loop on a thread.
class HttpClientTest : public ::testing::Test {
 protected:
  ~HttpClientTest() override { StopLoop(); }

  void StopLoop() {
    client_.Stop();
    if (loop_.joinable()) loop_.join();
  }

  static ClientRequest Get(std::string url) {
    ClientRequest request;
    request.url = std::move(url);
    request.timeout = milliseconds(20'000);
    return request;
  }

  std::future<Outcome> Send(ClientRequest request) {
    auto promise = std::make_shared<std::promise<Outcome>>();
    auto future = promise->get_future();
    last_id_ = client_.Submit(
        std::move(request), [promise](Outcome outcome) { promise->set_value(std::move(outcome)); });
    return future;
  }

  HttpClient client_{{.max_in_flight = 2, .max_waiting = 2}};
  HttpClient::RequestId last_id_ = 0;
  std::thread loop_{[this] { client_.Run(); }};
};

TEST_F(HttpClientTest, SendsMethodHeadersAndBodyAndCollectsTheAnswer) {
  FakeHttpServer server([](const HttpRequest& request, Reply& reply) {
    reply.Send(201,
               request.method + " " + request.target + " " +
                   std::string(request.FindHeader("Authorization")) + " " + request.body,
               {{"X-Kind", "test"}});
  });
  ClientRequest request = Get(server.url() + "/a?b=c");
  request.method = "POST";
  request.headers = {{"Authorization", "Bearer t"}, {"Content-Type", "application/json"}};
  request.body = "{}";
  const Outcome outcome = Send(std::move(request)).get();
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_EQ(outcome->status, 201);
  EXPECT_EQ(outcome->FindHeader("x-kind"), "test");
  EXPECT_EQ(outcome->body, "POST /a?b=c Bearer t {}");
}

TEST_F(HttpClientTest, ConnectionsAreKept) {
  FakeHttpServer server([](const HttpRequest&, Reply& reply) { reply.Send(200, "x"); });
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Send(Get(server.url())).get().has_value());
  EXPECT_EQ(server.connections(), 1U);
  ClientRequest fresh = Get(server.url());
  fresh.fresh_connection = true;
  ASSERT_TRUE(Send(std::move(fresh)).get().has_value());
  EXPECT_EQ(server.connections(), 2U);
}

TEST_F(HttpClientTest, StreamsABodyInPiecesAfterItsHeaders) {
  FakeHttpServer server([](const HttpRequest&, Reply& reply) {
    reply.Start(200);
    reply.Chunk("one");
    reply.Chunk("two");
    reply.Finish();
  });
  std::string seen;
  std::promise<Outcome> done;
  client_.SubmitStream(
      Get(server.url()),
      {.on_headers = [&](const ClientResponse& r) { seen += std::to_string(r.status) + ":"; },
       .on_body =
           [&](std::string_view piece) {
             seen += piece;
             return true;
           }},
      [&](Outcome outcome) { done.set_value(std::move(outcome)); });
  const Outcome outcome = done.get_future().get();
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  EXPECT_EQ(seen, "200:onetwo");
  EXPECT_EQ(outcome->body, "");
}

TEST_F(HttpClientTest, AStreamMayEndItself) {
  FakeHttpServer server([](const HttpRequest&, Reply& reply) {
    reply.Start(200);
    reply.Chunk("enough");
    reply.Hang();
  });
  std::promise<Outcome> done;
  client_.SubmitStream(Get(server.url()),
                       {.on_headers = {}, .on_body = [](std::string_view) { return false; }},
                       [&](Outcome outcome) { done.set_value(std::move(outcome)); });
  const Outcome outcome = done.get_future().get();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, Code::kUnavailable);
}

TEST_F(HttpClientTest, LimitsOfTimeEndARequest) {
  FakeHttpServer server([](const HttpRequest& request, Reply& reply) {
    if (request.target == "/half") {
      reply.Start(200);
      reply.Chunk("x");
    }
    reply.Hang();
  });
  ClientRequest silent = Get(server.url() + "/silent?secret=1");
  silent.timeout = milliseconds(50);
  Outcome outcome = Send(std::move(silent)).get();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, Code::kDeadlineExceeded) << outcome.error().message;
  EXPECT_THAT(outcome.error().message, HasSubstr("/silent"));
  EXPECT_THAT(outcome.error().message, ::testing::Not(HasSubstr("secret")));

  ClientRequest half = Get(server.url() + "/half");
  half.idle_timeout = milliseconds(50);
  outcome = Send(std::move(half)).get();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(outcome.error().message, HasSubstr("nothing came for 50 ms"));
}

TEST_F(HttpClientTest, FaultsOfTheConnectionAreUnavailable) {
  std::string closed_url;
  {
    FakeHttpServer server([](const HttpRequest&, Reply&) {});
    closed_url = server.url();
  }
  FakeHttpServer cut([](const HttpRequest&, Reply& reply) {
    reply.Raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    reply.Close();
  });
  for (const std::string& url : {closed_url, cut.url()}) {
    const Outcome outcome = Send(Get(url)).get();
    ASSERT_FALSE(outcome.has_value()) << url;
    EXPECT_EQ(outcome.error().code, Code::kUnavailable) << outcome.error().message;
  }
}

TEST_F(HttpClientTest, UnusableUrlsAreRefused) {
  for (const char* url : {"", "file:///etc/hostname", "http://[half"}) {
    const Outcome outcome = Send(Get(url)).get();
    ASSERT_FALSE(outcome.has_value()) << url;
    EXPECT_EQ(outcome.error().code, Code::kInvalidArgument) << outcome.error().message;
  }
}

TEST_F(HttpClientTest, TooLargeABodyIsRefused) {
  FakeHttpServer server(
      [](const HttpRequest&, Reply& reply) { reply.Send(200, std::string(100, 'x')); });
  ClientRequest request = Get(server.url());
  request.max_body_bytes = 99;
  const Outcome outcome = Send(std::move(request)).get();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, Code::kResourceExhausted);
  EXPECT_THAT(outcome.error().message, HasSubstr("larger than 99 bytes"));
}

TEST_F(HttpClientTest, ConcurrencyAndWaitingAreBounded) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::mutex mutex;
  std::condition_variable changed;
  int busy = 0;
  int busiest = 0;
  FakeHttpServer server([&](const HttpRequest&, Reply& reply) {
    {
      const std::lock_guard lock(mutex);
      busiest = std::max(busiest, ++busy);
      changed.notify_all();
    }
    released.wait();
    {
      const std::lock_guard lock(mutex);
      --busy;
    }
    reply.Send(200, "x");
  });
  std::vector<std::future<Outcome>> outcomes;
  for (int i = 0; i < 5; ++i) outcomes.push_back(Send(Get(server.url())));
  const Outcome refused = outcomes.back().get();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(20), [&] { return busy == 2; }));
  }
  release.set_value();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(outcomes[static_cast<size_t>(i)].get().has_value());
  EXPECT_EQ(busiest, 2);
}

TEST_F(HttpClientTest, TheWaitForATurnCountsAgainstTheTimeout) {
  FakeHttpServer server([](const HttpRequest&, Reply& reply) { reply.Hang(); });
  std::vector<std::future<Outcome>> in_flight;
  for (int i = 0; i < 2; ++i) in_flight.push_back(Send(Get(server.url())));
  ClientRequest third = Get(server.url());
  third.timeout = milliseconds(50);
  const Outcome outcome = Send(std::move(third)).get();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(outcome.error().message, HasSubstr("not sent within 50 ms"));
}

TEST_F(HttpClientTest, CancelCompletesOnce) {
  FakeHttpServer server([](const HttpRequest&, Reply& reply) { reply.Hang(); });
  auto outcome = Send(Get(server.url()));
  const auto id = last_id_;
  client_.Cancel(id);
  client_.Cancel(id);
  const Outcome cancelled = outcome.get();
  ASSERT_FALSE(cancelled.has_value());
  EXPECT_THAT(cancelled.error().message, HasSubstr("cancelled"));
}

TEST_F(HttpClientTest, StopCompletesWhatIsUnfinishedAndWhatComesAfter) {
  FakeHttpServer server([](const HttpRequest&, Reply& reply) { reply.Hang(); });
  std::vector<std::future<Outcome>> outcomes;
  for (int i = 0; i < 4; ++i) outcomes.push_back(Send(Get(server.url())));
  StopLoop();
  outcomes.push_back(Send(Get(server.url())));
  for (auto& outcome : outcomes) EXPECT_EQ(outcome.get().error().code, Code::kUnavailable);
}

TEST_F(HttpClientTest, TimersRunInOrderAndCancelledOnesDoNot) {
  std::promise<std::string> done;
  client_.Post([&] {
    auto order = std::make_shared<std::string>();
    client_.RunAfter(milliseconds(20), [&, order] { done.set_value(*order + "last"); });
    client_.RunAfter(milliseconds(5), [order] { *order += "second "; });
    client_.RunAfter(milliseconds(0), [order] { *order += "first "; });
    client_.CancelTimer(client_.RunAfter(milliseconds(10), [order] { *order += "never "; }));
  });
  EXPECT_EQ(done.get_future().get(), "first second last");
}

}  // namespace
}  // namespace activescale::net
