#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "redis/address.h"

namespace activescale::redis {

/// What an error reply means, by its first word.
/// Source: redis/redis:src/server.c (createSharedObjects), src/cluster.c (clusterRedirectClient).
enum class ErrorKind : uint8_t {
  kMoved,        // another node owns the slot: ask there, learn it
  kAsk,          // the slot is being moved: ask there this once
  kTryAgain,     // keys of one command are on two nodes while their slot is being moved
  kClusterDown,  // the Cluster serves no keys, or not this slot
  kReadOnly,     // a replica was asked to write
  kMasterDown,   // a replica that lost its master
  kLoading,      // the server reads its data at start
  kNoAuth,       // no password was given and one is required
  kWrongPass,    // user or password are wrong
  kNoPerm,       // the user may not run this command or touch this key
  kOutOfMemory,  // maxmemory is reached
  kBusy,         // a script runs too long
  kNoScript,     // the script's SHA is not known
  kWrongType,    // the key holds something else
  kNotDurable,   // MISCONF, NOREPLICAS: the server refuses writes that it could lose
  kOther,
};

[[nodiscard]] ErrorKind Classify(std::string_view error);

/// A line for a person: what the server said and what to do. `error` is a server's text; of one
/// that answers AUTH pass only the first word, since it may echo the command.
[[nodiscard]] std::string Explain(std::string_view error);

/// The first word of an error: "WRONGPASS".
[[nodiscard]] std::string_view FirstWord(std::string_view error);

struct Redirect {
  uint16_t slot = 0;
  Address target;
};

/// Reads "MOVED 3999 10.0.0.2:6381" and the like of ASK. An empty host means the host that was
/// asked. Nothing if it is malformed.
[[nodiscard]] std::optional<Redirect> ParseRedirect(std::string_view error, const Address& asked);

}  // namespace activescale::redis
