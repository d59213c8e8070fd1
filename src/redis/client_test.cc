#include "redis/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "redis/testing/client_fixture.h"

namespace activescale::redis {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The seed's first behaviour.
TEST_F(ClientTest, FreshClientThatNeverConnectedIsNotReady) {
  FakeRedis server;
  Make({.addresses = {server.address()}});
  EXPECT_FALSE(client_->Check().ok);
  server.SetMute(true);
  client_->Start({});
  EXPECT_TRUE(Passes([&] { return server.accepted() > 0; }));
  EXPECT_FALSE(client_->Check().ok) << "connected is not ready";
}

// The seed's second behaviour: no command is sent, the probe alone brings the link back.
TEST_F(ClientTest, ProbesAloneBringALinkBackThatWaitsInBackoff) {
  FakeRedis server;
  server.StopListening();
  Start(server);
  ASSERT_TRUE(Passes([&] { return client_->stats().failed_attempts > 5; }));
  server.Listen();
  // Time stands still: no attempt is due by itself. The probe reports what was before its nudge.
  EXPECT_FALSE(client_->Check().ok);
  client_->Nudge();
  EXPECT_TRUE(Eventually([&] { return client_->Check().ok; }));
  EXPECT_EQ(client_->stats().commands, 0u);
}

TEST_F(ClientTest, NudgesAreNoStorm) {
  FakeRedis server;
  server.StopListening();
  Start(server);
  ASSERT_TRUE(Passes([&] { return client_->stats().failed_attempts > 5; }));
  const uint64_t before = client_->stats().attempts;
  for (int i = 0; i < 200; ++i) {
    client_->Nudge();
    thread_.Run([] {});
  }
  EXPECT_LE(client_->stats().attempts, before + 1);
}

// Case B8: a server with an idle timeout closes; nothing is lost by it.
TEST_F(ClientTest, ConnectionClosedWhileIdleComesBackAndCommandsWaitForIt) {
  FakeRedis server;
  server.SetScript(Get("$5\r\nvalue\r\n"));
  Start(server);
  ASSERT_TRUE(BecomesReady());
  clock_.Advance(LinkState::kHealthy);
  thread_.Run([] {});
  ASSERT_EQ(AskGet(), "value");
  clock_.Advance(std::chrono::minutes(35));
  const uint64_t before = client_->stats().attempts;
  server.CloseConnections();
  // A command that is sent before the end is seen is lost with the connection.
  ASSERT_TRUE(Passes([&] { return client_->stats().attempts > before; }));
  EXPECT_EQ(AskGet(), "value");
  EXPECT_EQ(client_->stats().lost, 0u) << "an idle close is no fault";
}

TEST_F(ClientTest, CommandsArePipelinedAndAnsweredInOrder) {
  FakeRedis server;
  server.SetScript([](const FakeRedis::Args& args) -> std::optional<std::string> {
    if (args[0] == "ECHO") return Bulk(args[1]);
    return std::nullopt;
  });
  Start(server);
  ASSERT_TRUE(BecomesReady());
  std::vector<std::string> got;
  std::promise<void> all;
  thread_.Run([&] {
    for (int i = 0; i < 1000; ++i) {
      client_->Send(kSlot, FormatCommand({"ECHO", std::to_string(i)}), seconds(1),
                    [&, i](base::Result<Answer> answer) {
                      got.push_back(answer ? answer->reply.text : answer.error().message);
                      if (i == 999) all.set_value();
                    });
    }
  });
  all.get_future().wait();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(got[static_cast<size_t>(i)], std::to_string(i));
}

TEST_F(ClientTest, AServerThatFallsSilentIsTakenForDead) {
  FakeRedis server;
  server.SetScript(Get("$1\r\nv\r\n"));
  Start(server);
  ASSERT_TRUE(BecomesReady());
  server.SetMute(true);
  EXPECT_THAT(AskGet(), HasSubstr("in time"));
  EXPECT_TRUE(Passes([&] { return !client_->Check().ok; }));
  EXPECT_THAT(client_->Check().text, HasSubstr("failing"));
  server.SetMute(false);
  EXPECT_TRUE(BecomesReady());
  EXPECT_EQ(AskGet(), "v");
}

TEST_F(ClientTest, ALostConnectionIsTriedAgainWithinTheTime) {
  FakeRedis server;
  std::atomic<int> asked = 0;
  server.SetScript([&](const FakeRedis::Args& args) -> std::optional<std::string> {
    if (args[0] != "GET") return std::nullopt;
    return ++asked == 1 ? "" : "$1\r\nv\r\n";
  });
  Start(server);
  ASSERT_TRUE(BecomesReady());
  clock_.Advance(LinkState::kHealthy);
  std::promise<std::string> outcome;
  thread_.Run([&] {
    client_->Send(kSlot, FormatCommand({"GET", "k"}), seconds(1), [&](base::Result<Answer> a) {
      outcome.set_value(a ? a->reply.text : a.error().message);
    });
  });
  ASSERT_TRUE(Eventually([&] { return asked == 1; }));
  server.CloseConnections();
  EXPECT_EQ(outcome.get_future().get(), "v");
  EXPECT_EQ(client_->stats().retries, 1u);
}

TEST_F(ClientTest, ServerStatesAreToldWithWhatToDo) {
  const struct {
    const char* command;  // the answer to this one is wrong
    std::string reply;
    const char* want;
  } cases[] = {
      {"PING", "-LOADING Redis is loading the dataset in memory\r\n", "reads its data"},
      {"PING", "-NOAUTH Authentication required.\r\n", "REDIS_PASSWORD"},
      {"PING", "-MASTERDOWN Link with MASTER is down\r\n", "lost its master"},
      {"ROLE", Array({Bulk("slave"), Bulk("10.0.0.1"), Int(6379), Bulk("connected"), Int(0)}),
       "replica of 10.0.0.1:6379"},
      {"PING", "HTTP/1.1 400 Bad Request\r\n", "does not speak Redis's protocol"},
      {"TIME", "+now\r\n", "TIME"},
  };
  for (const auto& c : cases) {
    FakeRedis server;
    server.SetScript([&](const FakeRedis::Args& args) -> std::optional<std::string> {
      if (args[0] == c.command) return c.reply;
      return std::nullopt;
    });
    Start(server);
    EXPECT_TRUE(Passes([&] { return client_->Check().text.find(c.want) != std::string::npos; }))
        << c.want << ": " << client_->Check().text;
    EXPECT_FALSE(client_->Check().ok);
    EXPECT_THAT(AskGet(), StartsWith("error: "));
    server.SetScript(Get("$1\r\nv\r\n"));
    EXPECT_TRUE(BecomesReady()) << c.want;
    EXPECT_EQ(AskGet(), "v");
    thread_.Run([&] { client_.reset(); });
  }
}

TEST_F(ClientTest, AMasterThatBecameAReplicaIsLeft) {
  FakeRedis server;
  std::atomic<bool> replica = false;
  server.SetScript([&](const FakeRedis::Args& args) -> std::optional<std::string> {
    if (args[0] == "GET" && replica) return "-READONLY You can't write against a replica.\r\n";
    if (args[0] == "ROLE" && replica) {
      return Array({Bulk("slave"), Bulk("10.0.0.2"), Int(6379), Bulk("connected"), Int(0)});
    }
    if (args[0] == "GET") return "$1\r\nv\r\n";
    return std::nullopt;
  });
  Start(server);
  ASSERT_TRUE(BecomesReady());
  replica = true;
  EXPECT_THAT(AskGet(), StartsWith("error: "));
  EXPECT_TRUE(Passes(
      [&] { return client_->Check().text.find("replica of 10.0.0.2") != std::string::npos; }));
}

TEST_F(ClientTest, NoSecretLeavesTheClient) {
  FakeRedis server;
  server.SetScript([](const FakeRedis::Args& args) -> std::optional<std::string> {
    if (args[0] != "AUTH") return std::nullopt;
    return "-ERR unknown command `AUTH`, with args beginning with: `" + args[1] + "` `" +
           args.back() + "`\r\n";
  });
  testing::internal::CaptureStderr();
  Start(Config{.addresses = {server.address()},
               .login = {.user = "ops", .password = Secret("hunter2"), .password_file = ""}});
  EXPECT_TRUE(Passes([&] { return client_->stats().failed_attempts > 2; }));
  EXPECT_THAT(client_->Check().text, HasSubstr("refused AUTH (ERR)"));
  EXPECT_THAT(client_->Check().text, Not(HasSubstr("hunter2")));
  EXPECT_THAT(AskGet(), Not(HasSubstr("hunter2")));
  thread_.Stop();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), Not(HasSubstr("hunter2")));
}

TEST_F(ClientTest, ARotatedPasswordFileIsUsedWithoutRestart) {
  std::string path = std::filesystem::temp_directory_path() / "client-password-XXXXXX";
  ASSERT_GE(mkstemp(path.data()), 0);
  std::ofstream(path) << "old\n";
  FakeRedis server;
  server.SetScript([](const FakeRedis::Args& args) -> std::optional<std::string> {
    if (args[0] != "AUTH" || args.back() == "new") return std::nullopt;
    return "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
  });
  Start(Config{.addresses = {server.address()},
               .login = {.user = "", .password = Secret(), .password_file = path}});
  EXPECT_TRUE(Passes([&] { return client_->Check().text.find("WRONGPASS") != std::string::npos; }));
  std::ofstream(path) << "new\n";
  EXPECT_TRUE(BecomesReady());
  std::filesystem::remove(path);
}

// Case B7: an outage costs bounded attempts and log lines.
TEST_F(ClientTest, RefusedForAMinuteIsTriedWithDelaysAndLoggedSparsely) {
  FakeRedis server;
  server.StopListening();
  testing::internal::CaptureStderr();
  Start(server);
  const base::SteadyTime start = clock_.Now();
  ASSERT_TRUE(Eventually([&] {
    clock_.Advance(milliseconds(60));
    return clock_.Now() - start > seconds(60);
  }));
  EXPECT_GE(client_->stats().attempts, 20u);
  EXPECT_LE(client_->stats().attempts, 60 * 1000 / 350 + 10u);
  server.Listen();
  EXPECT_TRUE(BecomesReady());
  thread_.Stop();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_LE(std::ranges::count(log, '\n'), 5) << log;
  EXPECT_THAT(log, HasSubstr("cannot connect"));
  EXPECT_THAT(log, HasSubstr("ready again"));
}

}  // namespace
}  // namespace activescale::redis
