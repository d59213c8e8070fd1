#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <queue>
#include <random>
#include <vector>

#include "sim/service.h"

namespace activescale::sim {

/// The workload request by request: Poisson arrivals, the pod with the fewest requests takes each,
/// a common queue when all workers are busy, work times drawn from the model's distribution. A
/// million requests take about a second. Threads: one at a time.
class RequestService final : public Service {
 public:
  RequestService(const ServiceModel& model, uint64_t seed);

  void Step(double before, double now, double qps, const Fleet& fleet) override;
  [[nodiscard]] ServiceState state() const override;
  [[nodiscard]] double queued() const override { return static_cast<double>(queue_.size()); }
  /// Mean of the requests answered in the last step; the model's latency if there was none.
  [[nodiscard]] double latency() const override;
  [[nodiscard]] double refused() const override { return refused_; }
  void AddLatencies(LatencyRecord& record) const override;

 private:
  struct Completion {
    double at;
    double arrived;
    int64_t pod;
    bool operator>(const Completion& other) const { return at > other.at; }
  };

  [[nodiscard]] double DrawWork();
  /// The serving pod with the fewest requests that can take one more; -1 if there is none.
  [[nodiscard]] int64_t FreePod() const;
  void Start(double arrived, double now, int64_t pod);
  void Arrive(double now);
  void Complete();
  void TakePods(const Fleet& fleet, double before);

  const ServiceModel& model_;
  std::mt19937_64 random_;
  std::map<int64_t, int32_t> running_;  // pods that serve or still work
  std::vector<int64_t> serving_;
  std::deque<double> queue_;  // arrival times
  std::priority_queue<Completion, std::vector<Completion>, std::greater<>> completions_;
  std::vector<double> answered_;  // response times of the last step
  double refused_ = 0;
};

}  // namespace activescale::sim
