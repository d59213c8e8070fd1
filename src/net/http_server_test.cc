#include "net/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>

#include "net/testing/server_fixture.h"
#include "net/testing/test_client.h"

namespace activescale::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

/// Says what it was asked.
void Echo(const HttpRequest& request, HttpResponder respond) {
  HttpResponse response;
  response.content_type = "text/plain";
  response.body = request.method + " " + request.target + " [" + request.body + "] " +
                  std::string(request.FindHeader("x-test"));
  response.headers.emplace_back("X-Peer", request.peer_address);
  respond(std::move(response));
}

std::string_view Field(const HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

class HttpServerTest : public testing::Test {
 protected:
  void Start(FunctionHandler::Function function, HttpServerLimits limits = {}) {
    handler_ = std::make_unique<FunctionHandler>(std::move(function));
    HttpServerOptions options;
    options.limits = limits;
    server_ = std::make_unique<RunningServer>(*handler_, std::move(options));
  }
  std::unique_ptr<TestClient> Connect() {
    auto client = TestClient::Connect(server_->server->port());
    EXPECT_NE(client, nullptr);
    return client;
  }

  std::unique_ptr<FunctionHandler> handler_;
  std::unique_ptr<RunningServer> server_;
};

TEST_F(HttpServerTest, AnswersManyRequestsOnOneConnection) {
  Start(Echo);
  auto client = Connect();
  for (int i = 0; i < 100; ++i) {
    const auto response = client->Fetch("GET", "/a?b=" + std::to_string(i), {{"X-Test", "yes"}});
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "GET /a?b=" + std::to_string(i) + " [] yes");
    EXPECT_EQ(response->content_type, "text/plain");
    EXPECT_THAT(std::string(Field(*response, "X-Peer")), HasSubstr("127.0.0.1:"));
    EXPECT_EQ(Field(*response, "Connection"), "");
  }
  EXPECT_EQ(server_->Count(ConnectionEvent::kOpened), 1);
}

TEST_F(HttpServerTest, ReadsARequestHoweverItIsCut) {
  Start(Echo);
  const std::string plain = "GET /x HTTP/1.1\r\nHost: h\r\nX-Test: t\r\n\r\n";
  const std::string sized = "POST /y HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello";
  const std::string chunked =
      "POST /z HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\n\r\n";
  for (const size_t piece : {1, 2, 3, 4, 5, 6, 7, 8, 16, 31, 1000}) {
    auto client = Connect();
    for (const std::string& request : {plain, sized, chunked}) {
      for (size_t at = 0; at < request.size(); at += piece) {
        ASSERT_TRUE(client->Send(request.substr(at, piece)));
      }
    }
    EXPECT_EQ(client->ReadResponse()->body, "GET /x [] t") << piece;
    EXPECT_EQ(client->ReadResponse()->body, "POST /y [hello] ") << piece;
    EXPECT_EQ(client->ReadResponse()->body, "POST /z [abcde] ") << piece;
  }
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrderThoughTheHandlerAnswersFromAnotherThread) {
  std::vector<std::thread> threads;
  Start([&threads](const HttpRequest& request, HttpResponder respond) {
    const bool slow = request.target == "/0";
    threads.emplace_back([slow, request, respond = std::move(respond)]() mutable {
      if (slow) std::this_thread::sleep_for(milliseconds(20));
      Echo(request, std::move(respond));
    });
  });
  auto client = Connect();
  std::string all;
  for (int i = 0; i < 50; ++i) all += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: h\r\n\r\n";
  ASSERT_TRUE(client->Send(all));
  for (int i = 0; i < 50; ++i) {
    const auto response = client->ReadResponse();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, "GET /" + std::to_string(i) + " [] ");
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(HttpServerTest, RefusesWhatIsNotHttpOrTooLargeWithAStatusAndACount) {
  HttpServerLimits limits;
  limits.max_header_bytes = 2048;
  limits.max_body_bytes = 100;
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\n";
  const struct {
    const char* name;
    std::string bytes;
    int status;
    ConnectionEvent event;
  } cases[] = {
      {"garbage", "\x01\x02\x03 nonsense\r\n\r\n", 400, ConnectionEvent::kRequestMalformed},
      {"http2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400,
       ConnectionEvent::kRequestMalformed},
      {"no target", "GET HTTP/1.1\r\n\r\n", 400, ConnectionEvent::kRequestMalformed},
      {"length twice", head + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400,
       ConnectionEvent::kRequestMalformed},
      {"length and chunked", head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
       400, ConnectionEvent::kRequestMalformed},
      {"huge header", "GET / HTTP/1.1\r\nX: " + std::string(1 << 20, 'a') + "\r\n\r\n", 431,
       ConnectionEvent::kHeaderTooLarge},
      {"huge target", "GET /" + std::string(1 << 20, 'a') + " HTTP/1.1\r\n\r\n", 431,
       ConnectionEvent::kHeaderTooLarge},
      {"many headers",
       "GET / HTTP/1.1\r\n" +
           [] {
             std::string lines;
             for (int i = 0; i < 200; ++i) lines += "X-Header: some value\r\n";
             return lines;
           }() +
           "\r\n",
       431, ConnectionEvent::kHeaderTooLarge},
      {"long body", head + "Content-Length: 101\r\n\r\n", 413, ConnectionEvent::kBodyTooLarge},
      {"long chunked body",
       head + "Transfer-Encoding: chunked\r\n\r\n80\r\n" + std::string(128, 'b'), 413,
       ConnectionEvent::kBodyTooLarge},
  };
  for (const auto& c : cases) {
    Start(Echo, limits);
    auto client = Connect();
    client->Send(c.bytes);
    const auto response = client->ReadResponse();
    ASSERT_TRUE(response) << c.name;
    EXPECT_EQ(response->status, c.status) << c.name;
    EXPECT_EQ(Field(*response, "Connection"), "close") << c.name;
    EXPECT_TRUE(client->WaitForClose()) << c.name;
    EXPECT_EQ(server_->Count(c.event), 1) << c.name;
    EXPECT_EQ(Connect()->Fetch("GET", "/")->status, 200) << c.name;
  }
}

TEST_F(HttpServerTest, ErrorsBeforeTheHandlerAreRenderedByTheOption) {
  FunctionHandler handler(Echo);
  HttpServerOptions options;
  options.render_error = [](int status, std::string_view message) {
    return HttpResponse{status, "application/json", "{\"m\":\"" + std::string(message) + "\"}", {}};
  };
  RunningServer server(handler, std::move(options));
  auto client = TestClient::Connect(server.server->port());
  client->Send("nonsense\r\n\r\n");
  const auto response = client->ReadResponse();
  EXPECT_EQ(response->content_type, "application/json");
  EXPECT_THAT(response->body, HasSubstr("not valid HTTP/1.1"));
}

TEST_F(HttpServerTest, ARequestThatTricklesInIsCutAtItsDeadline) {
  Start(Echo);
  auto client = Connect();
  int seconds_alive = 0;
  while (server_->Count(ConnectionEvent::kRequestTimeout) == 0 && seconds_alive < 1000) {
    client->Send(seconds_alive == 0 ? "GET /" : "x");
    server_->clock.Advance(seconds(1));
    std::this_thread::sleep_for(milliseconds(5));
    ++seconds_alive;
  }
  EXPECT_EQ(server_->Count(ConnectionEvent::kRequestTimeout), 1);
  EXPECT_GE(seconds_alive, 10);
  EXPECT_TRUE(client->WaitForClose());
}

TEST_F(HttpServerTest, AnIdleConnectionIsClosedAfterTheIdleTimeoutOnly) {
  Start(Echo);
  auto client = Connect();
  ASSERT_TRUE(client->Fetch("GET", "/"));
  server_->clock.Advance(seconds(119));
  ASSERT_TRUE(client->Fetch("GET", "/"));
  EXPECT_TRUE(server_->AdvanceUntil(ConnectionEvent::kIdleTimeout));
  EXPECT_TRUE(client->WaitForClose());
  EXPECT_EQ(server_->Count(ConnectionEvent::kRequestTimeout), 0);
}

TEST_F(HttpServerTest, AClientThatDoesNotReadIsCut) {
  Start([](const HttpRequest&, HttpResponder respond) {
    respond({200, "text/plain", std::string(64 << 20, 'x'), {}});
  });
  auto client = Connect();
  ASSERT_TRUE(client->Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_TRUE(server_->AdvanceUntil(ConnectionEvent::kWriteTimeout));
  EXPECT_TRUE(server_->WaitFor(ConnectionEvent::kClosed, 1));
}

TEST_F(HttpServerTest, OneConnectionTooManyIsRefusedAndTheOthersServe) {
  HttpServerLimits limits;
  limits.max_connections = 2;
  Start(Echo, limits);
  auto first = Connect();
  auto second = Connect();
  ASSERT_TRUE(first->Fetch("GET", "/"));
  ASSERT_TRUE(second->Fetch("GET", "/"));
  auto third = Connect();
  EXPECT_TRUE(third->WaitForClose());
  EXPECT_EQ(server_->Count(ConnectionEvent::kRefusedTooMany), 1);
  EXPECT_TRUE(first->Fetch("GET", "/"));
  second.reset();
  EXPECT_TRUE(server_->WaitFor(ConnectionEvent::kClosed, 1));
  EXPECT_TRUE(Connect()->Fetch("GET", "/"));
}

TEST_F(HttpServerTest, AConnectionIsRetiredByAgeOrRequestsWithAnAnswerThatSaysSo) {
  HttpServerLimits limits;
  limits.max_connection_requests = 3;
  limits.idle_timeout = std::chrono::hours(1);
  Start(Echo, limits);
  auto busy = Connect();
  EXPECT_EQ(Field(*busy->Fetch("GET", "/1"), "Connection"), "");
  EXPECT_EQ(Field(*busy->Fetch("GET", "/2"), "Connection"), "");
  EXPECT_EQ(Field(*busy->Fetch("GET", "/3"), "Connection"), "close");
  EXPECT_TRUE(busy->WaitForClose());

  auto old = Connect();
  EXPECT_EQ(Field(*old->Fetch("GET", "/1"), "Connection"), "");
  server_->clock.Advance(seconds(670));  // 600 s and the most that jitter adds
  EXPECT_EQ(Field(*old->Fetch("GET", "/2"), "Connection"), "close");
  EXPECT_TRUE(old->WaitForClose());
  EXPECT_EQ(server_->Count(ConnectionEvent::kRetired), 2);
}

TEST_F(HttpServerTest, AHandlerThatDropsItsResponderAnswers500) {
  Start([](const HttpRequest&, HttpResponder respond) { HttpResponder gone = std::move(respond); });
  auto client = Connect();
  EXPECT_EQ(client->Fetch("GET", "/")->status, 500);
  EXPECT_EQ(client->Fetch("GET", "/")->status, 500);
}

TEST_F(HttpServerTest, AResponderOutlivesItsConnectionTheServerAndTheLoop) {
  std::promise<HttpResponder> taken[2];
  Start([&taken](const HttpRequest& request, HttpResponder respond) {
    taken[request.target == "/0" ? 0 : 1].set_value(std::move(respond));
  });
  auto client = Connect();
  ASSERT_TRUE(client->Send("GET /0 HTTP/1.1\r\nHost: h\r\n\r\n"));
  HttpResponder first = taken[0].get_future().get();
  client.reset();
  first({});  // nobody is there to read it
  EXPECT_TRUE(server_->WaitFor(ConnectionEvent::kClosed, 1));

  client = Connect();
  ASSERT_TRUE(client->Send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\n"));
  HttpResponder second = taken[1].get_future().get();
  server_.reset();
  second({});
  EXPECT_TRUE(client->WaitForClose());
}

TEST_F(HttpServerTest, HeadTellsTheLengthAndSendsNoBody) {
  Start(Echo);
  auto client = Connect();
  const auto response = client->Fetch("HEAD", "/abc");
  EXPECT_EQ(Field(*response, "Content-Length"), "13");
  EXPECT_EQ(client->Fetch("GET", "/next")->body, "GET /next [] ");
}

TEST_F(HttpServerTest, AClientThatWaitsForContinueGetsIt) {
  Start(Echo);
  auto client = Connect();
  ASSERT_TRUE(client->Send(
      "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(client->ReadResponse()->status, 100);
  ASSERT_TRUE(client->Send("body"));
  EXPECT_EQ(client->ReadResponse()->body, "POST /p [body] ");
}

TEST_F(HttpServerTest, Http10AndConnectionCloseAreClosedAfterTheAnswer) {
  Start(Echo);
  for (const char* request :
       {"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"}) {
    auto client = Connect();
    ASSERT_TRUE(client->Send(request));
    EXPECT_EQ(Field(*client->ReadResponse(), "Connection"), "close");
    EXPECT_TRUE(client->WaitForClose());
  }
}

TEST_F(HttpServerTest, DrainAnswersWhatIsInFlightClosesIdleOnesAndTakesNoMore) {
  std::promise<HttpResponder> taken;
  Start([&taken](const HttpRequest& request, HttpResponder respond) {
    if (request.target == "/slow") return taken.set_value(std::move(respond));
    Echo(request, std::move(respond));
  });
  auto idle = Connect();
  ASSERT_TRUE(idle->Fetch("GET", "/"));
  auto busy = Connect();
  ASSERT_TRUE(busy->Send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n"));
  HttpResponder respond = taken.get_future().get();

  auto drained =
      std::async(std::launch::async, [this] { return server_->server->Drain(seconds(20)); });
  EXPECT_TRUE(idle->WaitForClose());
  EXPECT_EQ(TestClient::Connect(server_->server->port()), nullptr);
  EXPECT_EQ(drained.wait_for(milliseconds(0)), std::future_status::timeout);
  respond({200, "text/plain", "late", {}});
  const auto response = busy->ReadResponse();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "late");
  EXPECT_EQ(Field(*response, "Connection"), "close");
  busy.reset();
  idle.reset();
  EXPECT_TRUE(drained.get());
}

TEST_F(HttpServerTest, DrainCutsWhatDoesNotEndInTime) {
  std::promise<HttpResponder> taken;
  Start(
      [&taken](const HttpRequest&, HttpResponder respond) { taken.set_value(std::move(respond)); });
  auto busy = Connect();
  ASSERT_TRUE(busy->Send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n"));
  HttpResponder respond = taken.get_future().get();
  EXPECT_FALSE(server_->server->Drain(milliseconds(20)));
  EXPECT_TRUE(busy->WaitForClose());
  respond({});
}

TEST(HttpServerListenTest, SaysWhyItCannotListen) {
  FunctionHandler handler(Echo);
  base::FakeClock clock;
  IoLoop loop;
  HttpServerOptions options;
  auto first = HttpServer::Listen(loop, options, handler, clock);
  ASSERT_TRUE(first);
  options.port = (*first)->port();
  options.name = "secure";
  auto second = HttpServer::Listen(loop, options, handler, clock);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, base::Code::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr("127.0.0.1:" + std::to_string(options.port)));
  EXPECT_THAT(second.error().message, HasSubstr("secure"));

  options.bind_address = "localhost";
  auto name = HttpServer::Listen(loop, options, handler, clock);
  ASSERT_FALSE(name);
  EXPECT_EQ(name.error().code, base::Code::kInvalidArgument);
}

TEST(HttpServerListenTest, TheIpv6WildcardTakesIpv4Too) {
  FunctionHandler handler(Echo);
  HttpServerOptions options;
  options.bind_address = "::";
  RunningServer server(handler, std::move(options));
  auto client = TestClient::Connect(server.server->port());
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(client->Fetch("GET", "/")->status, 200);
}

}  // namespace
}  // namespace activescale::net
