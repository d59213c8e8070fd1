#include "redis/reply_error.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "redis/slots.h"

namespace activescale::redis {
namespace {

struct Row {
  std::string_view word;
  ErrorKind kind;
  std::string_view advice;
};

constexpr std::array<Row, 19> kRows = {{
    {"MOVED", ErrorKind::kMoved, "the server is part of a Cluster: set REDIS_CLUSTER=true"},
    {"ASK", ErrorKind::kAsk, "the server is part of a Cluster: set REDIS_CLUSTER=true"},
    {"TRYAGAIN", ErrorKind::kTryAgain, "a slot is being moved; it passes"},
    {"CLUSTERDOWN", ErrorKind::kClusterDown,
     "check `redis-cli --cluster check`: slots without a master, or no majority"},
    {"READONLY", ErrorKind::kReadOnly,
     "the server is a replica: give the master's address, or let Sentinel name it"},
    {"MASTERDOWN", ErrorKind::kMasterDown, "the server is a replica that lost its master"},
    {"LOADING", ErrorKind::kLoading, "the server reads its data; it passes"},
    {"NOAUTH", ErrorKind::kNoAuth, "set REDIS_PASSWORD or REDIS_PASSWORD_FILE"},
    {"WRONGPASS", ErrorKind::kWrongPass, "check REDIS_USERNAME and the password"},
    {"NOPERM", ErrorKind::kNoPerm, "give the ACL user the rights listed in docs/store.md"},
    {"OOM", ErrorKind::kOutOfMemory, "raise maxmemory or free keys"},
    {"BUSY", ErrorKind::kBusy, "a script runs too long on the server"},
    {"NOSCRIPT", ErrorKind::kNoScript, "the script is sent again"},
    {"WRONGTYPE", ErrorKind::kWrongType,
     "something else writes under our keys: give each user of the server a prefix of its own"},
    {"MISCONF", ErrorKind::kNotDurable, "the server cannot save to disk: see its log"},
    {"NOREPLICAS", ErrorKind::kNotDurable, "too few replicas for min-replicas-to-write"},
    {"CROSSSLOT", ErrorKind::kOther, "a bug here: keys of two slots in one command"},
    {"DENIED", ErrorKind::kOther, "protected mode: set a password on the server"},
    {"NOPROTO", ErrorKind::kOther, "the server speaks another protocol version"},
}};

const Row* Find(std::string_view error) {
  const std::string_view word = FirstWord(error);
  for (const Row& row : kRows) {
    if (row.word == word) return &row;
  }
  return nullptr;
}

}  // namespace

std::string_view FirstWord(std::string_view error) { return error.substr(0, error.find(' ')); }

ErrorKind Classify(std::string_view error) {
  if (const Row* row = Find(error)) return row->kind;
  // Before version 6 a wrong password was a plain error, and no password at all is one still.
  if (error.starts_with("ERR invalid password")) return ErrorKind::kWrongPass;
  return ErrorKind::kOther;
}

std::string Explain(std::string_view error) {
  constexpr size_t kMaxText = 200;
  const Row* row = Find(error);
  const std::string_view text = error.substr(0, kMaxText);
  return row == nullptr ? fmt::format("the server said \"{}\"", text)
                        : fmt::format("the server said \"{}\": {}", text, row->advice);
}

std::optional<Redirect> ParseRedirect(std::string_view error, const Address& asked) {
  const size_t first = error.find(' ');
  if (first == std::string_view::npos) return std::nullopt;
  const size_t second = error.find(' ', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  Redirect redirect;
  const char* end = error.data() + second;
  const auto [stop, code] = std::from_chars(error.data() + first + 1, end, redirect.slot);
  if (code != std::errc() || stop != end || redirect.slot >= kSlotCount) return std::nullopt;
  const std::string_view where = error.substr(second + 1);
  // Not ParseAddress: an IPv6 host comes without brackets here, and the port is always there.
  const size_t colon = where.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto [port_end, port_code] =
      std::from_chars(where.data() + colon + 1, where.data() + where.size(), redirect.target.port);
  if (port_code != std::errc() || port_end != where.data() + where.size()) return std::nullopt;
  redirect.target.host = colon == 0 ? asked.host : std::string(where.substr(0, colon));
  return redirect;
}

}  // namespace activescale::redis
