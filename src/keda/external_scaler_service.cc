#include "keda/external_scaler_service.h"

#include <grpcpp/grpcpp.h>

#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "keda/hpa_metric.h"

namespace activescale::keda {
namespace {

using externalscaler::IsActiveResponse;
using externalscaler::ScaledObjectRef;

/// Questions that wait for their evaluation at the same time.
constexpr size_t kMaxWaiting = 1024;

grpc::Status ToGrpc(const base::Error& error) {
  return {static_cast<grpc::StatusCode>(error.code), error.message};
}

ScaledObject FromWire(const ScaledObjectRef& ref) {
  return {ref.namespace_(), ref.name(), {ref.scalermetadata().begin(), ref.scalermetadata().end()}};
}

}  // namespace

/// The way from the watch to one stream, which may end first.
class ExternalScalerService::Channel final : public ActivityListener {
 public:
  explicit Channel(grpc::ServerWriteReactor<IsActiveResponse>& stream) : stream_(&stream) {}

  void OnActivity(bool active) override {
    const base::MutexLock lock(mutex_);
    if (stream_ == nullptr) return;
    if (writing_) {
      next_ = active;
    } else {
      Write(active);
    }
  }

  void OnWritten() {
    const base::MutexLock lock(mutex_);
    writing_ = false;
    if (stream_ == nullptr || !next_) return;
    Write(*next_);
    next_.reset();
  }

  /// Ends the stream, if it has not been ended yet. Nothing is written after it.
  void End(const grpc::Status& status) {
    const base::MutexLock lock(mutex_);
    if (stream_ == nullptr) return;
    stream_->Finish(status);
    stream_ = nullptr;
  }

 private:
  void Write(bool active) REQUIRES(mutex_) {
    writing_ = true;
    message_.set_result(active);
    stream_->StartWrite(&message_);
  }

  base::Mutex mutex_;
  grpc::ServerWriteReactor<IsActiveResponse>* stream_ GUARDED_BY(mutex_);
  IsActiveResponse message_ GUARDED_BY(mutex_);
  std::optional<bool> next_ GUARDED_BY(mutex_);  // what the write under way is to be followed by
  bool writing_ GUARDED_BY(mutex_) = false;
};

class ExternalScalerService::Stream final : public grpc::ServerWriteReactor<IsActiveResponse> {
 public:
  Stream(ExternalScalerService& service, const ScaledObjectRef& request)
      : service_(service), channel_(std::make_shared<Channel>(*this)) {
    service_.streams_.fetch_add(1, std::memory_order_relaxed);
    ScaledObject object = FromWire(request);
    auto trigger = ParseTrigger(object, service_.rules_);
    const base::Result<void> added =
        trigger ? service_.watch_.Add(channel_, *std::move(trigger), std::move(object))
                : std::unexpected(std::move(trigger.error()));
    (added ? service_.stream_is_active_.answered : service_.stream_is_active_.failed).Increment();
    if (added) {
      StartSendInitialMetadata();  // the stream is open, whenever its first event comes
    } else {
      channel_->End(ToGrpc(added.error()));
    }
  }

  void OnWriteDone(bool ok) override {
    if (ok) return channel_->OnWritten();
    channel_->End({grpc::StatusCode::UNAVAILABLE, "the stream is broken"});
  }
  void OnCancel() override { channel_->End(grpc::Status::CANCELLED); }
  void OnDone() override {
    service_.watch_.Remove(*channel_);
    service_.streams_.fetch_sub(1, std::memory_order_release);
    delete this;
  }

 private:
  ExternalScalerService& service_;
  const std::shared_ptr<Channel> channel_;
};

ExternalScalerService::Counters ExternalScalerService::CountersOf(const std::string& method,
                                                                  telemetry::Registry& registry) {
  const auto counter = [&](const std::string& result) -> telemetry::Counter& {
    return registry.AddCounter("activescale_keda_calls_total",
                               "Calls of KEDA's operator, by method and result.",
                               {{"method", method}, {"result", result}});
  };
  return {counter("ok"), counter("error")};
}

ExternalScalerService::ExternalScalerService(const Scaler& scaler,
                                             const signal::StandingMoments& moments,
                                             ActivityWatch& watch, TriggerRules rules, Post post,
                                             telemetry::Registry& registry)
    : scaler_(scaler),
      moments_(moments),
      watch_(watch),
      rules_(rules),
      post_(std::move(post)),
      is_active_(CountersOf("IsActive", registry)),
      stream_is_active_(CountersOf("StreamIsActive", registry)),
      get_metric_spec_(CountersOf("GetMetricSpec", registry)),
      get_metrics_(CountersOf("GetMetrics", registry)) {}

// Goes behind the end of the last stream, which the server waited for.
ExternalScalerService::~ExternalScalerService() {
  static_cast<void>(streams_.load(std::memory_order_acquire));
}

void ExternalScalerService::Finish(grpc::ServerUnaryReactor& reactor, Counters& counters,
                                   const base::Result<void>& result) {
  (result ? counters.answered : counters.failed).Increment();
  reactor.Finish(result ? grpc::Status::OK : ToGrpc(result.error()));
}

grpc::ServerUnaryReactor* ExternalScalerService::Answer(
    grpc::CallbackServerContext* context, Counters& counters,
    std::move_only_function<base::Result<void>()> answer) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  if (waiting_.fetch_add(1, std::memory_order_relaxed) >= kMaxWaiting) {
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    Finish(*reactor, counters,
           base::Fail(base::Code::kResourceExhausted, "too many questions wait for an answer"));
    return reactor;
  }
  post_([this, reactor, &counters, answer = std::move(answer)]() mutable {
    const base::Result<void> result = answer();
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    Finish(*reactor, counters, result);
  });
  return reactor;
}

grpc::ServerUnaryReactor* ExternalScalerService::IsActive(grpc::CallbackServerContext* context,
                                                          const ScaledObjectRef* request,
                                                          IsActiveResponse* response) {
  return Answer(context, is_active_, [this, request, response]() -> base::Result<void> {
    const auto trigger = ParseTrigger(FromWire(*request), rules_);
    if (!trigger) return std::unexpected(trigger.error());
    const auto active = scaler_.IsActive(*trigger);
    if (!active) return std::unexpected(active.error());
    response->set_result(*active);
    return {};
  });
}

grpc::ServerWriteReactor<IsActiveResponse>* ExternalScalerService::StreamIsActive(
    grpc::CallbackServerContext* /*context*/, const ScaledObjectRef* request) {
  return new Stream(*this, *request);  // deletes itself in OnDone
}

/// Needs no data, hence no evaluation and no wait.
grpc::ServerUnaryReactor* ExternalScalerService::GetMetricSpec(
    grpc::CallbackServerContext* context, const ScaledObjectRef* request,
    externalscaler::GetMetricSpecResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const auto trigger = ParseTrigger(FromWire(*request), rules_);
  const auto spec = trigger ? scaler_.SpecOf(*trigger) : std::unexpected(trigger.error());
  if (spec) {
    externalscaler::MetricSpec& wire = *response->add_metricspecs();
    wire.set_metricname(spec->metric_name);
    wire.set_targetsize(static_cast<int64_t>(std::ceil(spec->target)));
    wire.set_targetsizefloat(spec->target);
  }
  Finish(*reactor, get_metric_spec_, spec ? base::Result<void>() : std::unexpected(spec.error()));
  return reactor;
}

grpc::ServerUnaryReactor* ExternalScalerService::GetMetrics(
    grpc::CallbackServerContext* context, const externalscaler::GetMetricsRequest* request,
    externalscaler::GetMetricsResponse* response) {
  return Answer(context, get_metrics_, [this, request, response]() -> base::Result<void> {
    const auto trigger = ParseTrigger(FromWire(request->scaledobjectref()), rules_);
    if (!trigger) return std::unexpected(trigger.error());
    const ScaledObjectRef& object = request->scaledobjectref();
    const auto standing =
        moments_.Of(QuestionOf(object.namespace_(), object.name(), trigger->metric_name));
    const auto value = scaler_.ValueOf(*trigger, standing);
    if (!value) return std::unexpected(value.error());
    externalscaler::MetricValue& wire = *response->add_metricvalues();
    // KEDA knows the value by the name it asked for.
    wire.set_metricname(request->metricname().empty() ? trigger->metric_name
                                                      : request->metricname());
    wire.set_metricvalue(static_cast<int64_t>(std::ceil(*value)));
    wire.set_metricvaluefloat(*value);
    return {};
  });
}

}  // namespace activescale::keda
