#include "metricsapi/access_gate.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "metricsapi/bearer_file.h"

namespace activescale::metricsapi {
namespace {

/// Keeps the decision for another thread to make.
class SlowAccess final : public AccessControl {
 public:
  void Check(const net::HttpRequest&, const RequestInfo& info, Decision done) override {
    asked = info;
    decision = std::move(done);
  }
  RequestInfo asked;
  Decision decision;
};

net::HttpResponse RefuseBriefly(const base::Error& error) {
  return {.status = base::HttpStatus(error.code), .body = error.message};
}

TEST(AccessGateTest, TheHandlerRunsOnTheLoopWhoeverDecides) {
  net::IoLoop loop;
  SlowAccess access;
  std::thread::id handled_on;
  AccessGate gate(
      access, {.verb = "get", .path = "/activescale/query"},
      [&](const kube::UserInfo& caller, net::HttpRequest request, net::HttpResponder respond) {
        handled_on = std::this_thread::get_id();
        respond({.body = caller.name + " got " + request.target});
      },
      RefuseBriefly, loop);
  std::string body;
  gate.Handle({.target = "/a"}, [&](net::HttpResponse response) {
    body = response.body;
    loop.Stop();
  });
  EXPECT_EQ(access.asked.path, "/activescale/query");
  access.decision(kube::UserInfo{.name = "jane"});
  EXPECT_EQ(body, "");
  std::thread thread([&loop] { loop.Run(); });
  const auto id = thread.get_id();
  thread.join();
  EXPECT_EQ(body, "jane got /a");
  EXPECT_EQ(handled_on, id);
}

TEST(BearerFileTest, OnlyTheTokenOfTheFileGetsIn) {
  const std::string path = testing::TempDir() + "/bearer-file-test";
  std::ofstream(path) << "s3cret\n";
  BearerFile access(path);
  const auto check = [&access](const std::string& header) {
    base::Result<kube::UserInfo> result;
    net::HttpRequest request;
    if (!header.empty()) request.headers.emplace_back("Authorization", header);
    access.Check(request, {},
                 [&result](base::Result<kube::UserInfo> got) { result = std::move(got); });
    return result ? 200 : base::HttpStatus(result.error().code);
  };
  EXPECT_EQ(check("Bearer s3cret"), 200);
  EXPECT_EQ(check("Bearer s3cre"), 401);
  EXPECT_EQ(check("Bearer s3cret2"), 401);
  EXPECT_EQ(check("Basic s3cret"), 401);
  EXPECT_EQ(check(""), 401);
  std::ofstream(path) << "rotated";
  EXPECT_EQ(check("Bearer s3cret"), 401);
  EXPECT_EQ(check("Bearer rotated"), 200);
  // An empty file is no open door.
  std::ofstream(path) << "\n";
  EXPECT_EQ(check("Bearer "), 503);
  std::filesystem::remove(path);
  EXPECT_EQ(check("Bearer rotated"), 503);
}

}  // namespace
}  // namespace activescale::metricsapi
