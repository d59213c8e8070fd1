#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "net/io_loop.h"
#include "redis/address.h"
#include "redis/config.h"

namespace activescale::redis {

/// What happens at a Transport; on the loop's thread.
class TransportHandler {
 public:
  virtual ~TransportHandler() = default;
  /// Connected, and the TLS handshake is done.
  virtual void OnOpen() = 0;
  /// `bytes` are valid during the call.
  virtual void OnBytes(std::string_view bytes) = 0;
  /// It could not be opened or it broke, for `reason`; `at_end` if the peer closed it in order.
  /// The last call.
  virtual void OnBroken(std::string reason, bool at_end) = 0;
};

/// A TCP connection to one server, with TLS if so configured. It has no timeouts: its owner drops
/// it. The loop must outlive it. Threads: the loop's.
class Transport {
 public:
  /// Begins to resolve and connect at once. `handler` must outlive the transport. The outcome comes
  /// later by the handler, also that of TLS files that cannot be read.
  Transport(net::IoLoop& loop, const Address& address, const TlsConfig& tls,
            TransportHandler& handler);
  /// Closes; no call of the handler after it. May run in one of the handler's calls.
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// Sends `bytes` after what was given before; what is given in one turn of the loop goes out in
  /// one piece. Only after OnOpen.
  void Write(std::string_view bytes);

  /// What it has been waiting for since it began, until it is open; for a person.
  [[nodiscard]] std::string_view WaitsFor() const;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace activescale::redis
