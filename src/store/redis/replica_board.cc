#include "store/redis/replica_board.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "redis/resp.h"
#include "redis/slots.h"

namespace activescale::store {
namespace {

constexpr std::chrono::milliseconds kBoardTimeout{1'000};
/// So that nothing stays behind when the last replica goes.
constexpr std::string_view kKeyTimeMs = "600000";

/// The number after the colon; nothing if the text is of somebody else.
std::optional<uint64_t> StreamsOf(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  uint64_t streams = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + colon + 1, end, streams);
  return read.ec == std::errc() && read.ptr == end ? std::optional(streams) : std::nullopt;
}

}  // namespace

ReplicaBoard::ReplicaBoard(Options options, std::function<uint64_t()> streams,
                           redis::Client& client, const base::Clock& clock)
    : options_(std::move(options)),
      key_(options_.context + ":replicas"),
      slot_(redis::KeySlot(key_)),
      streams_(std::move(streams)),
      client_(client),
      clock_(clock),
      next_(clock.Now()) {}

void ReplicaBoard::Tick() {
  const base::SteadyTime now = clock_.Now();
  if (now < next_ || !client_.Ready(slot_)) return;
  next_ = now + options_.interval;
  const std::string text = fmt::format("{}:{}", ++turn_, streams_());
  Send({"HSET", key_, options_.replica, text}, [](const base::Result<redis::Answer>&) {});
  Send({"PEXPIRE", key_, kKeyTimeMs}, [](const base::Result<redis::Answer>&) {});
  Send({"HGETALL", key_},
       [this](base::Result<redis::Answer> answer) { OnRead(std::move(answer)); });
}

void ReplicaBoard::Send(std::initializer_list<std::string_view> command,
                        redis::ReplyCallback done) {
  client_.Send(slot_, redis::FormatCommand(command), kBoardTimeout, std::move(done));
}

void ReplicaBoard::OnRead(base::Result<redis::Answer> answer) {
  if (!answer || answer->reply.type != redis::Reply::Type::kArray) return;
  const std::vector<redis::Reply>& words = answer->reply.elements;
  const base::SteadyTime now = clock_.Now();
  std::vector<std::string> forgotten;
  {
    const base::MutexLock lock(mutex_);
    std::map<std::string, Other> found;
    for (size_t i = 0; i + 1 < words.size() && found.size() < kMaxReplicas; i += 2) {
      const std::string& name = words[i].text;
      const auto streams = StreamsOf(words[i + 1].text);
      if (!streams || name == options_.replica) continue;
      const auto before = others_.find(name);
      Other other{.text = words[i + 1].text, .streams = *streams, .changed = now};
      if (before != others_.end()) {
        other.moved = before->second.moved || before->second.text != other.text;
        if (before->second.text == other.text) other.changed = before->second.changed;
      }
      if (now - other.changed > options_.forgotten) {
        forgotten.push_back(name);
      } else {
        found.emplace(name, std::move(other));
      }
    }
    others_ = std::move(found);
  }
  for (const std::string& name : forgotten) {
    Send({"HDEL", key_, name}, [](const base::Result<redis::Answer>&) {});
  }
}

std::vector<ReplicaBoard::Entry> ReplicaBoard::Known() const {
  const base::SteadyTime now = clock_.Now();
  std::vector<Entry> entries;
  const base::MutexLock lock(mutex_);
  for (const auto& [name, other] : others_) {
    if (other.moved && now - other.changed < options_.max_silence)
      entries.push_back({name, other.streams});
  }
  return entries;
}

}  // namespace activescale::store
