#include "store/redis/redis_log.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "base/log.h"

namespace activescale::store {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLogTimeout{400};
/// After a failed command, before the next one.
constexpr milliseconds kLogRetryInterval{250};
/// What a replica that starts asks for: longer than the others take to repeat what lasts.
constexpr std::chrono::seconds kPast{70};
constexpr std::string_view kMaxEntriesRead = "256";

/// KEYS[1] the stream, ARGV[1] how long it keeps entries in ms, ARGV[2] the writer's name, then
/// what it wrote. Servers before 6.2 keep a number of entries instead. The key goes when all
/// replicas are gone.
constexpr std::string_view kAppendScript = R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local fields = {}
for i = 3, #ARGV do
  fields[#fields + 1] = ARGV[2]
  fields[#fields + 1] = ARGV[i]
end
local keep = tonumber(ARGV[1])
local since = string.format('%d', now - keep)
local added = redis.pcall('XADD', KEYS[1], 'MINID', '~', since, '*', unpack(fields))
if type(added) == 'table' and added.err then
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', '5000', '*', unpack(fields))
end
return redis.call('PEXPIRE', KEYS[1], keep)
)lua";
constexpr std::string_view kKeptMs = "120000";
/// Lua's unpack takes some thousands of values at most.
constexpr size_t kMaxEntriesWritten = 1000;

RecordKey MakeLogKey(const std::string& context) {
  std::string text = context + ":{log}";
  const uint16_t slot = redis::KeySlot(text);
  return {std::move(text), slot};
}

}  // namespace

RedisLog::RedisLog(Options options, redis::Client& client, const base::Clock& clock,
                   telemetry::Registry& registry)
    : options_(std::move(options)),
      client_(client),
      clock_(clock),
      append_(kAppendScript),
      name_(fmt::format("{:016x}", options_.replica)),
      key_(MakeLogKey(options_.context)),
      written_(registry.AddCounter("activescale_redis_log_entries_written_total",
                                   "Entries for other replicas that were written.")),
      read_(registry.AddCounter("activescale_redis_log_entries_read_total",
                                "Entries of other replicas that were read.")),
      dropped_(registry.AddCounter("activescale_redis_log_entries_dropped_total",
                                   "Entries for other replicas that were dropped because Redis "
                                   "was away for too long.")),
      failures_(registry.AddCounter("activescale_redis_log_failures_total",
                                    "Failed commands of the log that replicas share.")) {}

bool RedisLog::Append(std::string entry) {
  const base::MutexLock lock(mutex_);
  if (entry.size() > kMaxEntryBytes || queued_bytes_ + entry.size() > options_.max_queued_bytes) {
    dropped_.Increment();
    return false;
  }
  queued_bytes_ += entry.size();
  queue_.push_back(std::move(entry));
  return true;
}

void RedisLog::Tick() {
  if (reader_ == nullptr) return;
  const base::SteadyTime now = clock_.Now();
  if (!write_under_way_ && now >= next_write_) Write();
  if (!read_under_way_ && now >= next_read_) Ask();
}

void RedisLog::Write() {
  if (writing_.empty()) {
    const base::MutexLock lock(mutex_);
    size_t bytes = 0;
    while (!queue_.empty() && bytes < kMaxEntryBytes && writing_.size() < kMaxEntriesWritten) {
      bytes += queue_.front().size();
      writing_.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    queued_bytes_ -= bytes;
  }
  if (writing_.empty()) return;
  std::vector<std::string_view> args = {kKeptMs, name_};
  args.insert(args.end(), writing_.begin(), writing_.end());
  write_under_way_ = true;
  append_.Run(client_, key_.slot, std::array<std::string_view, 1>{key_.text}, args, kLogTimeout,
              [this](const base::Result<redis::Answer>& answer) { OnWritten(answer); });
}

void RedisLog::OnWritten(const base::Result<redis::Answer>& answer) {
  write_under_way_ = false;
  if (answer && !answer->reply.IsError()) {
    written_.Increment(static_cast<double>(writing_.size()));
    writing_.clear();
    return;
  }
  // It is sent again; what comes meanwhile waits in the queue, which is bounded.
  next_write_ = clock_.Now() + kLogRetryInterval;
  Complain("written", answer ? answer->reply.text : answer.error().message);
}

void RedisLog::Ask() {
  const base::SteadyTime now = clock_.Now();
  if (!client_.Ready(key_.slot)) {
    next_read_ = now + kLogRetryInterval;
    return;
  }
  if (last_id_.empty()) {
    const auto clock = client_.ClockOf(key_.slot);
    if (!clock) return;
    const auto since =
        std::chrono::duration_cast<milliseconds>(clock->ToServer(now - kPast).time_since_epoch());
    last_id_ = fmt::format("{}-0", since.count());
  }
  read_under_way_ = true;
  next_read_ = now + kReadInterval;
  client_.Send(
      key_.slot,
      redis::FormatCommand({"XREAD", "COUNT", kMaxEntriesRead, "STREAMS", key_.text, last_id_}),
      kLogTimeout, [this](const base::Result<redis::Answer>& answer) { OnEntries(answer); });
}

void RedisLog::OnEntries(const base::Result<redis::Answer>& answer) {
  read_under_way_ = false;
  const redis::Reply* const reply = answer ? &answer->reply : nullptr;
  if (reply == nullptr || reply->IsError()) {
    next_read_ = clock_.Now() + kLogRetryInterval;
    return Complain("read", reply != nullptr ? reply->text : answer.error().message);
  }
  if (reply->type == redis::Reply::Type::kNil) return;
  // One stream: its name, and its entries.
  const bool whole = reply->elements.size() == 1 && reply->elements[0].elements.size() == 2;
  if (!whole) return Complain("read", "the answer has another form");
  const std::vector<redis::Reply>& entries = reply->elements[0].elements[1].elements;
  for (const redis::Reply& entry : entries) {
    if (!Take(entry, *answer->clock)) return Complain("read", "an entry has another form");
  }
  // There may be more.
  if (!entries.empty()) next_read_ = base::SteadyTime::min();
}

bool RedisLog::Take(const redis::Reply& entry, const redis::ServerClock& clock) {
  if (entry.elements.size() != 2) return false;
  const std::string& id = entry.elements[0].text;  // "<ms>-<number>"
  int64_t ms = 0;
  if (std::from_chars(id.data(), id.data() + id.size(), ms).ec != std::errc()) return false;
  last_id_ = id;
  const base::SteadyTime written = clock.ToLocal(redis::ServerTime(milliseconds(ms)));
  const std::vector<redis::Reply>& fields = entry.elements[1].elements;
  for (size_t i = 0; i + 1 < fields.size(); i += 2) {
    if (fields[i].text == name_) continue;
    read_.Increment();
    reader_(fields[i + 1].text, written);
  }
  return true;
}

void RedisLog::Complain(std::string_view what, const std::string& why) {
  if (reader_ == nullptr) return;  // at the end
  failures_.Increment();
  if (!warning_.Pass(clock_.Now())) return;
  LOG_WARNING(
      "the log that replicas share ({}) cannot be {}: {}; samples that came to other "
      "replicas by remote_write or envoy-stats are late",
      key_.text, what, why);
}

}  // namespace activescale::store
