#pragma once

#include "sim/service.h"

namespace activescale::sim {

/// The workload as a fluid: arrivals, work and waiting as rates. Fast, and exact for means; it has
/// no single requests, so latency is an estimate. Threads: one at a time.
class FlowService final : public Service {
 public:
  explicit FlowService(const ServiceModel& model) : model_(model) {}

  void Step(double before, double now, double qps, const Fleet& fleet) override;
  [[nodiscard]] ServiceState state() const override;
  [[nodiscard]] double queued() const override;
  /// Of a request that comes now. With nobody serving it is the time since nobody did, at least.
  [[nodiscard]] double latency() const override;
  [[nodiscard]] double refused() const override { return refused_; }
  void AddLatencies(LatencyRecord& record) const override;

 private:
  [[nodiscard]] double Slots() const;  // requests that can be worked on at once

  const ServiceModel& model_;
  double in_flight_ = 0;
  double refused_ = 0;
  double arrived_in_step_ = 0;
  double idle_for_ = 0;
  int32_t serving_ = 0;
};

}  // namespace activescale::sim
