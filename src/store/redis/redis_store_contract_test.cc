#include <thread>

#include "redis/testing/redis_server.h"
#include "store/redis/testing/replica.h"
#include "store/testing/sample_store_contract.h"

namespace activescale::store {
namespace {

/// A RedisStore before a real server, in real time.
class RedisHarness {
 public:
  RedisHarness() { EXPECT_TRUE(replica_.BecomesReady()); }

  SampleStore& store() { return replica_.store(); }
  [[nodiscard]] std::chrono::nanoseconds ttl() const { return replica_.ttl(); }
  [[nodiscard]] base::SteadyTime Now() const { return replica_.Now(); }
  void Advance(std::chrono::nanoseconds by) { std::this_thread::sleep_for(by); }
  void Settle() { replica_.Settle(); }
  base::Result<ReadResult> Read(const std::vector<metric::PodKey>& pods, metric::MetricKind kind) {
    return replica_.Read(pods, kind);
  }
  base::Result<ReadAllResult> ReadAll(const std::vector<metric::PodKey>& pods) {
    return replica_.ReadAll(pods);
  }

 private:
  redis::RedisServer server_;
  Replica replica_{{.addresses = {server_.address()}}, {.ttl = std::chrono::seconds(2)}};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Redis, SampleStoreContract, RedisHarness);

}  // namespace
}  // namespace activescale::store
