#include <gtest/gtest.h>
#include <malloc.h>

#include <memory>

#include "kube/testing/fake_api_server.h"
#include "kube/testing/pod_generator.h"
#include "kube/watch_pod_index.h"

namespace activescale::kube {
namespace {

/// The loop runs on this thread, because mallinfo2 counts the main arena only; the server's threads
/// have their own.
TEST(SizeTest, TenThousandPodsTakeLessThanSixtyMebibytesAndGiveThemBack) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has its own allocator";
#endif
  constexpr size_t kPods = 10'000;
  constexpr size_t kLimitBytes = size_t{60} << 20;
  FakeApiServer server;
  server.On("LIST /api/v1/pods", ListGeneratedPods(kPods, 0));
  base::SystemClock clock;
  telemetry::Registry registry;
  net::HttpClient http;
  ApiClient api(http, server.access(), clock);
  const size_t before = mallinfo2().uordblks;
  {
    WatchPodIndex index({.api = api,
                         .registry = registry,
                         .clock = clock,
                         .random = [] { return 0.5; },
                         .watcher = {}},
                        {});
    server.On("WATCH /api/v1/pods", [&http](const net::HttpRequest&, FakeApiServer::Reply& reply) {
      http.Stop();
      reply.Hang();
    });
    index.Start();
    http.Run();
    const size_t used = mallinfo2().uordblks - before;
    RecordProperty("index_bytes_per_pod", static_cast<int>(used / kPods));
    const auto pods = index.Select("namespace-3", *metric::Selector::Parse("app=service-31"));
    ASSERT_TRUE(pods) << pods.error().message;
    EXPECT_EQ(pods->size(), 100U);
    EXPECT_LT(used, kLimitBytes) << used / kPods << " bytes a pod";
  }
  EXPECT_LT(mallinfo2().uordblks, before + (size_t{1} << 20));
}

}  // namespace
}  // namespace activescale::kube
