#pragma once

#include <keda/externalscaler.grpc.pb.h>

#include <atomic>
#include <cstddef>
#include <functional>

#include "keda/activity_watch.h"
#include "keda/scaler.h"
#include "signal/standing_moments.h"
#include "telemetry/registry.h"

namespace activescale::keda {

/// KEDA's external scaler over gRPC's callback API. Questions are evaluated where `post` runs work,
/// so that gRPC's threads never wait; a stream has one write under way at most, and what a slow
/// reader did not get is one newer state. Outlives the server. Threads: any.
class ExternalScalerService final : public externalscaler::ExternalScaler::CallbackService {
 public:
  using Post = std::function<void(std::move_only_function<void()>)>;

  /// All of them must outlive it.
  ExternalScalerService(const Scaler& scaler, const signal::StandingMoments& moments,
                        ActivityWatch& watch, TriggerRules rules, Post post,
                        telemetry::Registry& registry);
  /// The server must be gone.
  ~ExternalScalerService() override;

  grpc::ServerUnaryReactor* IsActive(grpc::CallbackServerContext* context,
                                     const externalscaler::ScaledObjectRef* request,
                                     externalscaler::IsActiveResponse* response) override;
  grpc::ServerWriteReactor<externalscaler::IsActiveResponse>* StreamIsActive(
      grpc::CallbackServerContext* context,
      const externalscaler::ScaledObjectRef* request) override;
  grpc::ServerUnaryReactor* GetMetricSpec(grpc::CallbackServerContext* context,
                                          const externalscaler::ScaledObjectRef* request,
                                          externalscaler::GetMetricSpecResponse* response) override;
  grpc::ServerUnaryReactor* GetMetrics(grpc::CallbackServerContext* context,
                                       const externalscaler::GetMetricsRequest* request,
                                       externalscaler::GetMetricsResponse* response) override;

 private:
  class Channel;
  class Stream;
  struct Counters {
    telemetry::Counter& answered;
    telemetry::Counter& failed;
  };

  [[nodiscard]] static Counters CountersOf(const std::string& method,
                                           telemetry::Registry& registry);
  /// Runs `answer` where evaluations belong, and finishes the call with what it returns.
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, Counters& counters,
                                   std::move_only_function<base::Result<void>()> answer);
  static void Finish(grpc::ServerUnaryReactor& reactor, Counters& counters,
                     const base::Result<void>& result);

  const Scaler& scaler_;
  const signal::StandingMoments& moments_;
  ActivityWatch& watch_;
  const TriggerRules rules_;
  const Post post_;
  std::atomic<size_t> waiting_{0};
  std::atomic<size_t> streams_{0};
  Counters is_active_;
  Counters stream_is_active_;
  Counters get_metric_spec_;
  Counters get_metrics_;
};

}  // namespace activescale::keda
