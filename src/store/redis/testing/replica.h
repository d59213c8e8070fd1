#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "redis/testing/loop_thread.h"
#include "store/redis/redis_store.h"
#include "store/testing/sample_store_contract.h"

namespace activescale::store {

/// A steady clock of another machine: the true one, moved.
class MovedClock final : public base::Clock {
 public:
  explicit MovedClock(std::chrono::nanoseconds by = {}) : by_(by) {}
  [[nodiscard]] base::SteadyTime Now() const override {
    return std::chrono::steady_clock::now() + by_;
  }
  [[nodiscard]] base::WallTime WallNow() const override {
    return std::chrono::system_clock::now() +
           std::chrono::duration_cast<base::WallTime::duration>(by_);
  }

 private:
  const std::chrono::nanoseconds by_;
};

/// One replica's RedisStore, with a loop of its own, in real time.
class Replica {
 public:
  explicit Replica(redis::Config config, RedisStoreOptions options = {},
                   std::chrono::nanoseconds clock_moved = {}, SharedLog::Reader log_reader = {})
      : clock_(clock_moved), options_(std::move(options)) {
    static uint64_t seed = 1;
    seed += uint64_t{1} << 32;
    store_ = std::make_unique<RedisStore>(
        options_, std::make_unique<redis::Client>(thread_.loop(), clock_, std::move(config), seed),
        clock_, registry_, seed);
    if (log_reader) store_->log().Read(std::move(log_reader));
    store_->Start();
  }
  ~Replica() { thread_.Stop(); }

  [[nodiscard]] RedisStore& store() { return *store_; }
  [[nodiscard]] std::chrono::nanoseconds ttl() const { return options_.ttl; }
  [[nodiscard]] base::SteadyTime Now() const { return clock_.Now(); }
  void Settle() {
    EXPECT_TRUE(redis::Eventually([&] { return store_->pending_writes() == 0; }));
  }
  bool BecomesReady(std::chrono::milliseconds limit = std::chrono::seconds(10)) {
    return redis::Eventually([&] { return store_->Check().ok; }, limit);
  }
  base::Result<ReadResult> Read(const std::vector<metric::PodKey>& pods, metric::MetricKind kind) {
    std::promise<base::Result<ReadResult>> got;
    store_->Read(pods, kind,
                 [&](base::Result<ReadResult> result) { got.set_value(std::move(result)); });
    return got.get_future().get();
  }
  base::Result<ReadAllResult> ReadAll(const std::vector<metric::PodKey>& pods) {
    std::promise<base::Result<ReadAllResult>> got;
    store_->ReadAll(pods,
                    [&](base::Result<ReadAllResult> result) { got.set_value(std::move(result)); });
    return got.get_future().get();
  }
  /// One pod's inbound requests in words.
  std::string Say(const metric::PodKey& pod, metric::MetricKind kind = kInbound) {
    auto result = Read({pod}, kind);
    return result ? store::Say(result->readings.at(0)) : "error: " + result.error().message;
  }
  void Write(PodStream& stream, int64_t value) {
    stream.Write(FlushOf(kInbound, value), Now());
    Settle();
  }
  double Counter(const std::string& name, const telemetry::LabelMap& labels = {}) {
    return registry_.AddCounter(name, "", labels).Value();
  }
  std::string Metrics() { return registry_.Render(); }
  void RunOnLoop(std::move_only_function<void()> work) { thread_.Run(std::move(work)); }

 private:
  MovedClock clock_;
  RedisStoreOptions options_;
  telemetry::Registry registry_;
  redis::LoopThread thread_;
  std::unique_ptr<RedisStore> store_;
};

}  // namespace activescale::store
