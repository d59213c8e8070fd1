#include "store/redis/redis_store.h"

#include <utility>

#include "store/redis/client_stats.h"

namespace activescale::store {

class RedisStore::Stream final : public PodStream {
 public:
  Stream(Writer& writer, const metric::PodKey& pod) : writer_(writer), state_(writer.Open(pod)) {}
  ~Stream() override { writer_.Close(*state_); }

  WriteOutcome Write(const Flush& flush, base::SteadyTime received) override {
    return writer_.Write(*state_, flush, received);
  }
  WriteOutcome Heartbeat(base::SteadyTime received) override {
    return writer_.Heartbeat(*state_, received);
  }

 private:
  Writer& writer_;
  const std::shared_ptr<StreamState> state_;
};

RedisStore::RedisStore(const RedisStoreOptions& options, std::unique_ptr<redis::Client> client,
                       const base::Clock& clock, telemetry::Registry& registry, uint64_t seed)
    : client_(std::move(client)),
      pending_(registry.AddGauge("activescale_redis_pending_writes",
                                 "Streams whose newest state is not yet in Redis.")),
      clock_(clock),
      context_(options.context),
      writer_({options.ttl, options.context, options.max_streams}, *client_, clock, registry, seed),
      reader_({options.ttl, options.context}, *client_, clock, registry),
      log_({.context = options.context, .replica = seed}, *client_, clock, registry) {
  registry.AddRefresh([this] { pending_.Set(static_cast<double>(writer_.pending())); });
  PublishClientStats(*client_, registry);
}

RedisStore::~RedisStore() {
  log_.Read(nullptr);
  // Tells what is under way that it failed, while the halves are still there to hear it.
  client_.reset();
}

void RedisStore::Start() {
  client_->Start(
      {.on_routes_ready = [this](const redis::SlotSet& slots) { writer_.OnRoutesReady(slots); },
       .on_tick =
           [this] {
             writer_.FlushDue();
             log_.Tick();
             if (board_) board_->Tick();
           }});
}

void RedisStore::ShareStreams(const std::string& replica, std::function<uint64_t()> streams) {
  board_ =
      std::make_unique<ReplicaBoard>(ReplicaBoard::Options{.context = context_, .replica = replica},
                                     std::move(streams), *client_, clock_);
}

std::vector<ReplicaBoard::Entry> RedisStore::OtherReplicas() const {
  return board_ ? board_->Known() : std::vector<ReplicaBoard::Entry>();
}

std::unique_ptr<PodStream> RedisStore::Open(metric::PodKey pod) {
  return std::make_unique<Stream>(writer_, pod);
}

void RedisStore::Read(std::vector<metric::PodKey> pods, metric::MetricKind kind,
                      ReadCallback done) {
  client_->Post([this, pods = std::move(pods), kind, done = std::move(done)]() mutable {
    reader_.Read(std::move(pods), kind, std::move(done));
  });
}

telemetry::CheckResult RedisStore::Check() {
  const redis::HealthSummary connections = client_->Check();
  if (!connections.ok || connections.partial) client_->Nudge();
  telemetry::CheckResult result{connections.ok, connections.text};
  if (const std::string refusal = writer_.Refusal(); !refusal.empty()) {
    client_->Post([this] { writer_.ProbeIfRefused(); });
    result.ok = false;
    result.reason = refusal + "; " + result.reason;
  }
  if (const std::string key = writer_.RefusedKey(); !key.empty()) result.reason += "; " + key;
  return result;
}

}  // namespace activescale::store
