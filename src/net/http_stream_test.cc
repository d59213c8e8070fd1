#include "net/http_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "net/self_signed.h"
#include "net/testing/server_fixture.h"
#include "net/testing/test_client.h"

namespace activescale::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

HttpStream::Piece Text(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

TEST(HttpStreamTest, PiecesAreTakenInOrderAndCountUntilTheNextOnes) {
  HttpStream stream(10);
  int woken = 0;
  EXPECT_TRUE(stream.Send(Text("abc")));
  stream.Attach([&woken] { ++woken; });
  EXPECT_TRUE(stream.Send(Text("defg")));
  EXPECT_EQ(woken, 0) << "the first piece waits already";
  const auto taken = stream.Take();
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(*taken[0] + *taken[1], "abcdefg");
  EXPECT_TRUE(stream.Send(Text("hij")));
  EXPECT_EQ(woken, 1);
  EXPECT_FALSE(stream.Send(Text("k"))) << "seven are on their way and three wait";
  EXPECT_EQ(stream.state(), HttpStream::State::kOverflow);
  EXPECT_EQ(woken, 2);
  EXPECT_TRUE(stream.Take().empty());
  EXPECT_FALSE(stream.Send(Text("")));
}

TEST(HttpStreamTest, WhatIsOverTakesNothingMore) {
  HttpStream ended(10);
  ended.End();
  EXPECT_FALSE(ended.Send(Text("a")));
  EXPECT_FALSE(ended.open());
  HttpStream closed(10);
  closed.Close();
  closed.End();
  EXPECT_FALSE(closed.Send(Text("a")));
  EXPECT_EQ(closed.state(), HttpStream::State::kClosed);
}

/// A server that hands its streams to the test.
class StreamingServerTest : public testing::TestWithParam<bool> {
 protected:
  StreamingServerTest()
      : handler_([this](const HttpRequest& request, HttpResponder respond) {
          if (request.target != "/events") return respond({200, "text/plain", "plain", {}});
          auto stream = std::make_shared<HttpStream>(max_unsent_.load());
          HttpResponse response{200, "text/event-stream", "", {}};
          response.stream = stream;
          respond(std::move(response));
          const base::MutexLock lock(mutex_);
          streams_.push_back(std::move(stream));
        }) {
    tls_.Set(*TlsContext::ForServer(
        *MakeSelfSigned({"127.0.0.1"}, std::chrono::system_clock::now(), std::chrono::hours(1))));
    HttpServerOptions options;
    options.limits.max_connections = 300;
    if (GetParam()) options.tls = &tls_;
    server_ = std::make_unique<RunningServer>(handler_, std::move(options));
  }

  std::unique_ptr<TestClient> Connect() {
    return TestClient::Connect(server_->server->port(),
                               GetParam() ? std::optional(TestTls()) : std::nullopt);
  }
  /// The stream of the latest request.
  std::shared_ptr<HttpStream> WaitForStream(size_t count) {
    for (int i = 0; i < 5000; ++i) {
      {
        const base::MutexLock lock(mutex_);
        if (streams_.size() == count) return streams_.back();
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
    return nullptr;
  }
  static bool WaitUntilOver(const HttpStream& stream) {
    for (int i = 0; i < 5000 && stream.state() != HttpStream::State::kClosed; ++i) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    return stream.state() == HttpStream::State::kClosed;
  }

  std::atomic<size_t> max_unsent_{1 << 20};
  base::Snapshot<TlsContext> tls_;
  FunctionHandler handler_;
  base::Mutex mutex_;
  std::vector<std::shared_ptr<HttpStream>> streams_ GUARDED_BY(mutex_);
  std::unique_ptr<RunningServer> server_;
};

INSTANTIATE_TEST_SUITE_P(Transports, StreamingServerTest, testing::Bool(),
                         [](const auto& transport) { return transport.param ? "Tls" : "Plain"; });

constexpr std::string_view kAsk = "GET /events HTTP/1.1\r\nHost: h\r\n\r\n";

TEST_P(StreamingServerTest, PiecesComeAsTheyAreSentAndTheEndClosesTheConnection) {
  auto client = Connect();
  ASSERT_TRUE(client->Send(kAsk));
  const auto stream = WaitForStream(1);
  ASSERT_TRUE(stream);
  const std::string head = client->ReadUntil("\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("HTTP/1.1 200 OK"));
  EXPECT_THAT(head, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_THAT(head, HasSubstr("Connection: close"));
  EXPECT_THAT(head, Not(HasSubstr("Content-Length")));
  for (int i = 0; i < 50; ++i) {
    const std::string piece = "data: " + std::to_string(i) + "\n\n";
    ASSERT_TRUE(stream->Send(Text(piece)));
    EXPECT_EQ(client->ReadUntil("\n\n"), piece);
  }
  const std::string large(300'000, 'x');
  ASSERT_TRUE(stream->Send(Text(large)));
  ASSERT_TRUE(stream->Send(Text("\n\n")));
  stream->End();
  EXPECT_EQ(client->ReadUntil("\n\n"), large + "\n\n");
  EXPECT_TRUE(client->WaitForClose());
  EXPECT_TRUE(WaitUntilOver(*stream));
  client.reset();
  EXPECT_TRUE(server_->WaitFor(ConnectionEvent::kClosed, 1));
}

TEST_P(StreamingServerTest, AStreamMayRestForLongerThanAnyTimeout) {
  auto client = Connect();
  ASSERT_TRUE(client->Send(kAsk));
  const auto stream = WaitForStream(1);
  ASSERT_TRUE(stream->Send(Text("a\n\n")));
  static_cast<void>(client->ReadUntil("\r\n\r\n"));
  EXPECT_EQ(client->ReadUntil("\n\n"), "a\n\n");
  // Once the server's one thread has answered this it knows, too, that the piece has been written.
  auto other = Connect();
  ASSERT_TRUE(other->Send("GET /other HTTP/1.1\r\nHost: test\r\n\r\n"));
  EXPECT_THAT(other->ReadUntil("\r\n\r\n"), HasSubstr("200"));
  for (int i = 0; i < 20; ++i) {
    server_->clock.Advance(seconds(60));
    std::this_thread::sleep_for(milliseconds(3));  // several sweeps
  }
  ASSERT_TRUE(stream->Send(Text("b\n\n")));
  EXPECT_EQ(client->ReadUntil("\n\n"), "b\n\n");
}

TEST_P(StreamingServerTest, AClientThatGoesEndsItsStream) {
  auto client = Connect();
  ASSERT_TRUE(client->Send(kAsk));
  const auto stream = WaitForStream(1);
  static_cast<void>(client->ReadUntil("\r\n\r\n"));
  client.reset();
  EXPECT_TRUE(WaitUntilOver(*stream));
  EXPECT_FALSE(stream->Send(Text("late")));
  EXPECT_TRUE(server_->WaitFor(ConnectionEvent::kClosed, 1));
}

TEST_P(StreamingServerTest, AClientThatNeverReadsIsCutAndCountedWithoutSlowingTheOthers) {
  auto idle = Connect();
  ASSERT_TRUE(idle->Send(kAsk));
  const auto unread = WaitForStream(1);
  auto reader = Connect();
  ASSERT_TRUE(reader->Send(kAsk));
  const auto read = WaitForStream(2);
  static_cast<void>(reader->ReadUntil("\r\n\r\n"));

  const HttpStream::Piece piece = Text(std::string(100'000, 'x') + "\n\n");
  bool open = true;
  for (int i = 0; i < 1000 && open; ++i) {
    open = unread->Send(piece);
    ASSERT_TRUE(read->Send(piece)) << i;
    ASSERT_EQ(reader->ReadUntil("\n\n").size(), piece->size()) << i;
  }
  EXPECT_FALSE(open) << "what nobody reads went on growing";
  EXPECT_TRUE(server_->WaitFor(ConnectionEvent::kStreamOverflow, 1));
  EXPECT_TRUE(server_->WaitFor(ConnectionEvent::kClosed, 1));
  EXPECT_TRUE(read->Send(Text("on\n\n")));
  EXPECT_EQ(reader->ReadUntil("\n\n"), "on\n\n");
}

TEST_P(StreamingServerTest, AClientThatStopsReadingASlowStreamIsCutByTime) {
  max_unsent_ = 64 << 20;
  auto client = Connect();
  ASSERT_TRUE(client->Send(kAsk));
  const auto stream = WaitForStream(1);
  // More than the sockets take, and less than a stream may leave unread.
  ASSERT_TRUE(stream->Send(Text(std::string(32 << 20, 'x'))));
  EXPECT_TRUE(server_->AdvanceUntil(ConnectionEvent::kWriteTimeout));
  EXPECT_EQ(server_->Count(ConnectionEvent::kStreamOverflow), 0);
  EXPECT_TRUE(WaitUntilOver(*stream));
}

TEST_P(StreamingServerTest, HeadIsAnsweredWithoutAStream) {
  auto client = Connect();
  ASSERT_TRUE(client->Send("HEAD /events HTTP/1.1\r\nHost: h\r\n\r\n"));
  const auto stream = WaitForStream(1);
  EXPECT_THAT(client->ReadUntil("\r\n\r\n"), HasSubstr("text/event-stream"));
  EXPECT_TRUE(client->WaitForClose());
  EXPECT_FALSE(stream->Send(Text("a")));
}

TEST_P(StreamingServerTest, DrainEndsStreamsAfterWhatWasSent) {
  auto client = Connect();
  ASSERT_TRUE(client->Send(kAsk));
  const auto stream = WaitForStream(1);
  ASSERT_TRUE(stream->Send(Text("last\n\n")));
  static_cast<void>(client->ReadUntil("\r\n\r\n"));
  auto drained =
      std::async(std::launch::async, [this] { return server_->server->Drain(seconds(20)); });
  EXPECT_EQ(client->ReadUntil("\n\n"), "last\n\n");
  EXPECT_TRUE(client->WaitForClose());
  client.reset();
  EXPECT_TRUE(drained.get());
  EXPECT_FALSE(stream->Send(Text("a")));
}

TEST_P(StreamingServerTest, AStreamOutlivesTheServer) {
  auto client = Connect();
  ASSERT_TRUE(client->Send(kAsk));
  const auto stream = WaitForStream(1);
  server_.reset();
  EXPECT_FALSE(stream->Send(Text("a")));
  stream->End();
}

TEST_P(StreamingServerTest, ManyReadersShareOnePiece) {
  std::vector<std::unique_ptr<TestClient>> clients;
  const size_t count = GetParam() ? 10 : 100;  // handshakes take their time
  for (size_t i = 1; i <= count; ++i) {
    clients.push_back(Connect());
    ASSERT_TRUE(clients.back()->Send(kAsk));
    ASSERT_TRUE(WaitForStream(i));
  }
  const HttpStream::Piece piece = Text(std::string(10'000, 'x') + "\n\n");
  {
    const base::MutexLock lock(mutex_);
    for (const auto& stream : streams_) EXPECT_TRUE(stream->Send(piece));
  }
  for (const auto& client : clients) {
    static_cast<void>(client->ReadUntil("\r\n\r\n"));
    EXPECT_EQ(client->ReadUntil("\n\n").size(), piece->size());
  }
}

}  // namespace
}  // namespace activescale::net
