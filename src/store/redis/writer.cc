// Invariants:
// 1. A stream is in queue_ or parked_ exactly while its place is kQueued; its operation is under
// way
//    exactly while it is kSending or kOvertaken. pending_ counts the streams that are not kIdle.
// 2. One operation of a stream is under way at a time, so its states reach Redis in order.
// 3. A registered stream is in streams_ until it is closed and kIdle.
#include "store/redis/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/log.h"
#include "redis/reply_error.h"
#include "store/redis/write_script.h"

namespace activescale::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kWriteTimeout{1000};
constexpr milliseconds kRetryInterval{200};
constexpr seconds kHeartbeatInterval{1};
constexpr milliseconds kHeartbeatScan{100};
constexpr seconds kProbeInterval{1};
constexpr int64_t kClaimSlackMicros = 10'000'000;
// Claims of two streams of a pod that opened further apart than this are put in their order.
constexpr milliseconds kClaimUncertainty{20};
constexpr seconds kRefusedKeyShown{60};
constexpr seconds kRefusalLogInterval{5};
// Bounds how long one script keeps a server from others: about 64 x 10 us.
constexpr size_t kMaxBatch = 64;

StoredTime ToStored(const redis::ServerClock& clock, base::SteadyTime at) {
  return std::chrono::floor<milliseconds>(clock.ToServer(at));
}

}  // namespace

Writer::Writer(Options options, redis::Client& client, const base::Clock& clock,
               telemetry::Registry& registry, uint64_t owner_base)
    : options_(std::move(options)),
      client_(client),
      clock_(clock),
      script_(kWriteScript),
      ttl_ms_(std::to_string(std::chrono::ceil<milliseconds>(options_.ttl).count())),
      counters_(registry),
      next_owner_(owner_base) {}

std::shared_ptr<StreamState> Writer::Open(const metric::PodKey& pod) {
  auto stream = std::make_shared<StreamState>(MakeRecordKey(options_.context, pod.View()),
                                              next_owner_++, clock_.Now());
  base::MutexLock lock(stream->mutex);
  if (Register(*stream)) MarkDirty(*stream);
  return stream;
}

WriteOutcome Writer::Write(StreamState& stream, const Flush& flush, base::SteadyTime received) {
  base::MutexLock lock(stream.mutex);
  if (!Register(stream)) {
    counters_.max_streams.Increment();
    return WriteOutcome::kDropped;
  }
  for (size_t i = 0; i < flush.values.size(); ++i) {
    if (flush.values[i]) stream.samples[i] = {*flush.values[i], received};
  }
  stream.heartbeat = std::max(stream.heartbeat, received);
  MarkDirty(stream);
  return stream.superseded ? WriteOutcome::kSuperseded : WriteOutcome::kStored;
}

WriteOutcome Writer::Heartbeat(StreamState& stream, base::SteadyTime received) {
  base::MutexLock lock(stream.mutex);
  if (!Register(stream)) {
    counters_.max_streams.Increment();
    return WriteOutcome::kDropped;
  }
  stream.heartbeat = std::max(stream.heartbeat, received);
  if (stream.sent_heartbeat == StreamState::kNever) {
    MarkDirty(stream);
  } else if (!std::exchange(stream.late, true)) {
    base::MutexLock list_lock(mutex_);
    late_heartbeats_.push_back(stream.shared_from_this());
  }
  return stream.superseded ? WriteOutcome::kSuperseded : WriteOutcome::kStored;
}

void Writer::Close(StreamState& stream) {
  base::MutexLock lock(stream.mutex);
  stream.closed = true;
  if (stream.registered) MarkDirty(stream);
}

bool Writer::Register(StreamState& stream) {
  if (stream.registered) return true;
  base::MutexLock lock(mutex_);
  if (streams_.size() >= options_.max_streams) return false;
  streams_.insert(stream.shared_from_this());
  stream.registered = true;
  return true;
}

void Writer::MarkDirty(StreamState& stream) {
  if (stream.place == StreamState::Place::kSending) stream.place = StreamState::Place::kOvertaken;
  if (stream.place != StreamState::Place::kIdle) return;
  stream.place = StreamState::Place::kQueued;
  pending_.fetch_add(1, std::memory_order_relaxed);
  base::MutexLock lock(mutex_);
  queue_.push_back(stream.shared_from_this());
}

bool Writer::Fresh(base::SteadyTime at, base::SteadyTime now) const {
  return at != StreamState::kNever && now - at < options_.ttl;
}

std::vector<Writer::StreamPointer> Writer::TakeQueue() {
  base::MutexLock lock(mutex_);
  return std::exchange(queue_, {});
}

void Writer::FlushDue() {
  const base::SteadyTime now = clock_.Now();
  if (now >= next_heartbeats_) MarkDueHeartbeats(now);
  if (now >= next_retry_) RetryParked(now);
  std::vector<StreamPointer> due = TakeQueue();
  std::ranges::stable_sort(due, {}, [](const StreamPointer& stream) { return stream->key.slot; });
  Batch batch;
  for (size_t i = 0; i < due.size(); ++i) {
    const uint16_t slot = due[i]->key.slot;
    if (client_.Ready(slot) && (Claimed(*due[i]) || ClockIsSettled(slot))) {
      batch.push_back(std::move(due[i]));
    } else {
      Park(std::move(due[i]), now);
    }
    const bool last = i + 1 == due.size() || due[i + 1]->key.slot != slot;
    if (!batch.empty() && (last || batch.size() == kMaxBatch)) {
      SendBatch(slot, batch);
      batch.clear();
    }
  }
}

bool Writer::Claimed(StreamState& stream) {
  base::MutexLock lock(stream.mutex);
  return stream.epoch != 0;
}

bool Writer::ClockIsSettled(uint16_t slot) {
  const auto clock = client_.ClockOf(slot);
  return clock && (clock->uncertainty() <= kClaimUncertainty ||
                   clock->answers() >= redis::ServerClock::kManyAnswers);
}

void Writer::MarkDueHeartbeats(base::SteadyTime now) {
  next_heartbeats_ = now + kHeartbeatScan;
  std::vector<StreamPointer> late;
  {
    base::MutexLock lock(mutex_);
    late.swap(late_heartbeats_);
  }
  std::erase_if(late, [&](const StreamPointer& stream) {
    base::MutexLock lock(stream->mutex);
    const bool wanted = !stream->closed && stream->heartbeat > stream->sent_heartbeat;
    if (wanted && now - stream->sent_at < kHeartbeatInterval) return false;
    if (wanted) MarkDirty(*stream);
    stream->late = false;
    return true;
  });
  base::MutexLock lock(mutex_);
  late_heartbeats_.insert(late_heartbeats_.end(), late.begin(), late.end());
}

void Writer::Park(StreamPointer stream, base::SteadyTime now) {
  {
    base::MutexLock lock(stream->mutex);
    const bool worthless = stream->closed && !Fresh(stream->heartbeat, now);
    if (!worthless) {
      parked_.push_back(std::move(stream));
      return;
    }
    if (stream->heartbeat > stream->sent_heartbeat) counters_.expired.Increment();
    stream->place = StreamState::Place::kSending;
  }
  Settle(stream);
}

void Writer::RetryParked(base::SteadyTime now) {
  next_retry_ = now + kRetryInterval;
  base::MutexLock lock(mutex_);
  queue_.insert(queue_.end(), parked_.begin(), parked_.end());
  parked_.clear();
}

std::optional<std::string> Writer::Encode(StreamState& stream, const redis::ServerClock& clock,
                                          base::SteadyTime now) {
  base::MutexLock lock(stream.mutex);
  stream.place = StreamState::Place::kSending;
  const bool fresh = Fresh(stream.heartbeat, now);
  const bool news = stream.heartbeat > stream.sent_heartbeat;
  if (news && !fresh) {
    counters_.expired.Increment();
    stream.sent_heartbeat = stream.heartbeat;
  }
  const bool claim = stream.epoch == 0;
  const bool worthless =
      stream.closed ? (claim && !fresh) || (stream.superseded && !news) : !claim && !fresh;
  if (worthless) return std::nullopt;
  Operation operation{.claim = claim, .release = stream.closed, .record = {}};
  Record& record = operation.record;
  record.owner = stream.owner;
  record.epoch =
      claim ? static_cast<uint64_t>(clock.GuessServer(stream.opened).time_since_epoch().count())
            : stream.epoch;
  if (claim) stream.claimed_epoch = record.epoch;
  if (fresh) record.heartbeat = ToStored(clock, stream.heartbeat);
  for (size_t i = 0; i < stream.samples.size(); ++i) {
    const StreamState::Sample& sample = stream.samples[i];
    if (!Fresh(sample.received, now)) continue;
    record.samples[i] = {ToStored(clock, sample.received), sample.value};
  }
  stream.sent_heartbeat = std::max(stream.sent_heartbeat, stream.heartbeat);
  stream.sent_at = now;
  return FormatOperation(operation, stream.key.text);
}

void Writer::SendBatch(uint16_t slot, const Batch& streams) {
  const base::SteadyTime now = clock_.Now();
  const auto clock = client_.ClockOf(slot);
  Batch batch;
  std::vector<std::string> operations;
  for (const StreamPointer& stream : streams) {
    auto operation = clock ? Encode(*stream, *clock, now) : std::nullopt;
    if (operation) {
      batch.push_back(stream);
      operations.push_back(std::move(*operation));
    } else {
      Settle(stream);
    }
  }
  if (batch.empty()) return;
  std::vector<std::string_view> keys;
  std::vector<std::string_view> args = {ttl_ms_};
  for (const StreamPointer& stream : batch) keys.push_back(stream->key.text);
  args.insert(args.end(), operations.begin(), operations.end());
  script_.Run(client_, slot, keys, args, kWriteTimeout,
              [this, slot, batch = std::move(batch)](base::Result<redis::Answer> answer) {
                OnAnswer(slot, batch, std::move(answer));
              });
}

void Writer::OnAnswer(uint16_t slot, const Batch& batch, base::Result<redis::Answer> answer) {
  if (!answer) return Retry(batch);
  const redis::Reply& reply = answer->reply;
  if (reply.IsError()) return OnError(slot, batch, reply.text);
  if (reply.elements.size() != batch.size()) {
    return OnError(slot, batch, "ERR the write script gave an unexpected answer");
  }
  if (slot == probe_key_.slot) SetRefusal("", "");
  for (size_t i = 0; i < batch.size(); ++i) {
    OnOutcome(*batch[i], reply.elements[i].integer);
    Settle(batch[i]);
  }
}

void Writer::OnError(uint16_t slot, const Batch& batch, const std::string& error) {
  const redis::ErrorKind kind = redis::Classify(error);
  if (kind == redis::ErrorKind::kTryAgain && batch.size() > 1) {
    // While a slot is being moved its keys may be on two nodes; one key is on one.
    for (const StreamPointer& stream : batch) SendBatch(slot, {stream});
    return;
  }
  if (kind == redis::ErrorKind::kTryAgain || kind == redis::ErrorKind::kBusy) return Retry(batch);
  counters_.Refused(kind).Increment(static_cast<double>(batch.size()));
  if (Refusal().empty()) probe_key_ = batch.front()->key;
  SetRefusal(redis::Explain(error), batch.front()->key.text);
  for (const StreamPointer& stream : batch) Settle(stream);
}

void Writer::OnOutcome(StreamState& stream, int64_t outcome) {
  if (outcome == kWriteOnForeign) {
    counters_.foreign_value.Increment();
    return SetRefusedKey(stream,
                         "holds a value that is not ours: something else writes under our "
                         "prefix; give it another, or change REDIS_CONTEXT");
  }
  if (outcome == kWriteOnUnknownVersion) {
    counters_.unknown_version.Increment();
    return SetRefusedKey(stream,
                         "was written by a version too far from this one: upgrade one minor "
                         "version at a time; it heals within the TTL");
  }
  base::MutexLock lock(stream.mutex);
  // Of an answer that was damaged on the way nothing is learnt: the owner's name is what counts.
  const auto known = static_cast<int64_t>(stream.epoch != 0 ? stream.epoch : stream.claimed_epoch);
  if (outcome != kWriteSuperseded && std::abs(outcome - known) > kClaimSlackMicros) return;
  stream.superseded = outcome == kWriteSuperseded;
  (stream.superseded ? counters_.superseded : counters_.writes).Increment();
  if (!stream.superseded) stream.epoch = static_cast<uint64_t>(outcome);
}

void Writer::Settle(const StreamPointer& stream) {
  bool forget = false;
  {
    base::MutexLock lock(stream->mutex);
    const bool overtaken = stream->place == StreamState::Place::kOvertaken;
    stream->place = StreamState::Place::kIdle;
    pending_.fetch_sub(1, std::memory_order_relaxed);
    if (overtaken) MarkDirty(*stream);
    forget = stream->closed && !overtaken;
  }
  if (forget) Forget(stream);
}

void Writer::Retry(const Batch& batch) {
  counters_.retries.Increment(static_cast<double>(batch.size()));
  for (const StreamPointer& stream : batch) {
    base::MutexLock lock(stream->mutex);
    stream->place = StreamState::Place::kQueued;
    stream->sent_heartbeat = StreamState::kNever;
    parked_.push_back(stream);
  }
}

void Writer::Forget(const StreamPointer& stream) {
  base::MutexLock lock(mutex_);
  streams_.erase(stream);
}

void Writer::OnRoutesReady(const redis::SlotSet& slots) {
  std::vector<StreamPointer> streams;
  {
    base::MutexLock lock(mutex_);
    streams.assign(streams_.begin(), streams_.end());
  }
  const base::SteadyTime now = clock_.Now();
  for (const StreamPointer& stream : streams) {
    if (!slots.test(stream->key.slot)) continue;
    base::MutexLock lock(stream->mutex);
    // A superseded stream would only take over by a flush of its own.
    if (!stream->superseded && Fresh(stream->heartbeat, now)) MarkDirty(*stream);
  }
  RetryParked(now);
}

std::string Writer::Refusal() const {
  const base::SteadyTime now = clock_.Now();
  base::MutexLock lock(mutex_);
  if (refusal_.empty()) return "";
  return fmt::format("writes are refused for {:.1f}s: {}",
                     std::chrono::duration<double>(now - refused_since_).count(), refusal_);
}

std::string Writer::RefusedKey() const {
  const base::SteadyTime now = clock_.Now();
  base::MutexLock lock(mutex_);
  return now - key_refused_at_ < kRefusedKeyShown ? refused_key_ : "";
}

void Writer::SetRefusal(const std::string& reason, const std::string& key) {
  base::MutexLock lock(mutex_);
  if (refusal_.empty() == reason.empty()) return;
  refusal_ = reason;
  refused_since_ = clock_.Now();
  if (refused_since_ - refusal_logged_at_ < kRefusalLogInterval) return;
  refusal_logged_at_ = refused_since_;
  if (reason.empty()) {
    LOG_INFO("redis: writes are taken again");
  } else {
    LOG_WARNING("redis: the write of {} was refused: {}", key, reason);
  }
}

void Writer::SetRefusedKey(const StreamState& stream, std::string_view why) {
  const base::SteadyTime now = clock_.Now();
  base::MutexLock lock(mutex_);
  const bool log = refused_key_.empty() || now - key_refused_at_ >= kRefusedKeyShown;
  refused_key_ = fmt::format("key {} {}", stream.key.text, why);
  key_refused_at_ = now;
  if (log) LOG_WARNING("redis: {}", refused_key_);
}

void Writer::ProbeIfRefused() {
  const base::SteadyTime now = clock_.Now();
  if (Refusal().empty() || now - last_probe_ < kProbeInterval) return;
  last_probe_ = now;
  // In the tag of the key that was refused, so on the same server, and of no pod: the name is
  // empty.
  const std::string key = probe_key_.text.substr(0, probe_key_.text.find("}:") + 2);
  const std::string operation =
      FormatOperation({.claim = true, .release = true, .record = {}}, key);
  const std::string_view keys[] = {key};
  const std::string_view args[] = {ttl_ms_, operation};
  script_.Run(client_, probe_key_.slot, keys, args, kWriteTimeout,
              [this](const base::Result<redis::Answer>& answer) {
                if (answer && !answer->reply.IsError()) SetRefusal("", "");
              });
}

}  // namespace activescale::store
