#include "store/redis/reader.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "redis/reply_error.h"
#include "redis/resp.h"

namespace activescale::store {
namespace {

// A record may be this much ahead of its server's clock, which is set forward and back by small
// steps. Further ahead it is of another clock, and its age is not known.
constexpr std::chrono::seconds kFutureTolerance{1};

size_t HashOf(const std::vector<metric::PodKey>& pods) {
  size_t hash = pods.size();
  for (const metric::PodKey& pod : pods) hash = hash * 31 + metric::PodKeyHash{}(pod);
  return hash;
}

telemetry::Counter& BadRecords(telemetry::Registry& registry, const char* reason) {
  return registry.AddCounter("activescale_redis_bad_records_total",
                             "Values under our keys that were not served.", {{"reason", reason}});
}

}  // namespace

Reader::Reader(Options options, redis::Client& client, const base::Clock& clock,
               telemetry::Registry& registry)
    : options_(std::move(options)),
      client_(client),
      clock_(clock),
      reads_(registry.AddCounter("activescale_redis_reads_total", "Reads of lists of pods.")),
      shared_(registry.AddCounter("activescale_redis_shared_reads_total",
                                  "Reads that took the answer of an equal one under way.")),
      partial_(registry.AddCounter("activescale_redis_partial_reads_total",
                                   "Reads without the pods of a node that did not answer.")),
      unavailable_(registry.AddCounter("activescale_redis_unavailable_reads_total",
                                       "Reads that no node answered.")),
      foreign_(BadRecords(registry, "foreign_value")),
      corrupt_(BadRecords(registry, "corrupt")),
      unknown_version_(BadRecords(registry, "unknown_version")),
      future_(BadRecords(registry, "future")) {}

void Reader::Read(std::vector<metric::PodKey> pods, metric::MetricKind kind, ReadCallback done) {
  reads_.Increment();
  if (pods.empty()) return done(ReadResult{});
  const size_t hash = HashOf(pods);
  if (const auto it = under_way_.find(hash); it != under_way_.end() && it->second->asked == pods) {
    shared_.Increment();
    it->second->waiters.push_back({kind, std::move(done)});
    return;
  }
  auto trip = std::make_shared<Trip>();
  trip->asked = std::move(pods);
  trip->pods.resize(trip->asked.size());
  trip->waiters.push_back({kind, std::move(done)});
  under_way_.insert_or_assign(hash, trip);
  Start(trip);
}

void Reader::Start(const std::shared_ptr<Trip>& trip) {
  std::map<uint16_t, Indexes> slots;
  for (const metric::PodKey& pod : trip->asked) {
    RecordKey key = MakeRecordKey(options_.context, pod.View());
    slots[key.slot].push_back(trip->keys.size());
    trip->keys.push_back(std::move(key.text));
  }
  // Counted before the first is sent: an answer may come at once.
  trip->commands_left = slots.size();
  for (auto& [slot, indexes] : slots) Ask(trip, slot, std::move(indexes));
}

void Reader::Ask(const std::shared_ptr<Trip>& trip, uint16_t slot, Indexes indexes) {
  std::vector<std::string_view> words = {"MGET"};
  for (const size_t i : indexes) words.push_back(trip->keys[i]);
  std::string wire;
  redis::AppendCommand(wire, words);
  client_.Send(
      slot, std::move(wire), kTimeout,
      [this, trip, slot, indexes = std::move(indexes)](base::Result<redis::Answer> answer) {
        OnAnswer(trip, slot, indexes, std::move(answer));
      });
}

void Reader::OnAnswer(const std::shared_ptr<Trip>& trip, uint16_t slot, const Indexes& indexes,
                      base::Result<redis::Answer> answer) {
  const bool error_reply = answer && answer->reply.IsError();
  if (error_reply && indexes.size() > 1 &&
      redis::Classify(answer->reply.text) == redis::ErrorKind::kTryAgain) {
    // While a slot is being moved its keys may be on two nodes; one key is on one.
    trip->commands_left += indexes.size() - 1;
    for (const size_t i : indexes) Ask(trip, slot, {i});
    return;
  }
  const bool whole = answer && answer->reply.elements.size() == indexes.size() && answer->clock;
  if (whole) {
    trip->any_answer = true;
    for (size_t i = 0; i < indexes.size(); ++i) {
      Take(trip->pods[indexes[i]], trip->keys[indexes[i]], answer->reply.elements[i],
           *answer->clock);
    }
  } else if (trip->failure.empty()) {
    trip->failure = !answer       ? answer.error().message
                    : error_reply ? redis::Explain(answer->reply.text)
                                  : "the server's answer to MGET has an unknown form";
  }
  if (--trip->commands_left == 0) Finish(*trip);
}

void Reader::Take(Pod& pod, std::string_view key, const redis::Reply& element,
                  const redis::ServerClock& clock) {
  // A key of another type is nil in MGET's answer; a write of it is refused and counted.
  if (element.type != redis::Reply::Type::kString) return;
  const auto record = ParseRecord(element.text, key);
  if (!record) return CountBad(record.error());
  pod.heartbeat = ToLocal(clock, record->heartbeat);
  for (size_t i = 0; i < record->samples.size(); ++i) {
    pod.received[i] = ToLocal(clock, record->samples[i].at);
    pod.values[i] = record->samples[i].value;
  }
}

void Reader::CountBad(BadRecord reason) {
  switch (reason) {
    case BadRecord::kForeign:
      return foreign_.Increment();
    case BadRecord::kCorrupt:
      return corrupt_.Increment();
    case BadRecord::kUnknownVersion:
      return unknown_version_.Increment();
  }
}

std::optional<base::SteadyTime> Reader::ToLocal(const redis::ServerClock& clock, StoredTime at) {
  if (at == StoredTime()) return std::nullopt;
  const base::SteadyTime now = clock_.Now();
  const base::SteadyTime local = clock.ToLocal(at);
  if (local > now + kFutureTolerance) {
    future_.Increment();
    return std::nullopt;
  }
  return std::min(local, now);
}

void Reader::Finish(Trip& trip) {
  const auto it = under_way_.find(HashOf(trip.asked));
  if (it != under_way_.end() && it->second.get() == &trip) under_way_.erase(it);
  const base::SteadyTime now = clock_.Now();
  const bool failed = !trip.failure.empty();
  const std::string message =
      fmt::format("Redis does not answer, so no pod's value is known: {}", trip.failure);
  for (Waiter& waiter : std::exchange(trip.waiters, {})) {
    if (!trip.any_answer) {
      unavailable_.Increment();
      waiter.done(base::Fail(base::Code::kUnavailable, message));
      continue;
    }
    if (failed) partial_.Increment();
    ReadResult result{.readings = {}, .partial = failed};
    result.readings.reserve(trip.pods.size());
    for (const Pod& pod : trip.pods) result.readings.push_back(Evaluate(pod, waiter.kind, now));
    waiter.done(std::move(result));
  }
}

PodReading Reader::Evaluate(const Pod& pod, metric::MetricKind kind, base::SteadyTime now) const {
  const auto fresh = [&](const std::optional<base::SteadyTime>& at) {
    return at && now - *at < options_.ttl;
  };
  if (!fresh(pod.heartbeat)) return {};
  const auto index = static_cast<size_t>(kind);
  if (!fresh(pod.received[index])) {
    return {PodReading::State::kSynthesizedZero, {}, *pod.heartbeat};
  }
  return {PodReading::State::kValue, pod.values[index], *pod.received[index]};
}

}  // namespace activescale::store
