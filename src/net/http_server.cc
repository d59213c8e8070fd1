#include "net/http_server.h"

#include <fmt/format.h>

#include <array>
#include <future>
#include <random>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/log.h"
#include "net/http_connection.h"

namespace activescale::net {

namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::array<std::string_view, kConnectionEventCount> kEventNames = {"opened",
                                                                             "closed",
                                                                             "refused_too_many",
                                                                             "handshake_failed",
                                                                             "handshake_timeout",
                                                                             "request_malformed",
                                                                             "header_too_large",
                                                                             "body_too_large",
                                                                             "request_timeout",
                                                                             "write_timeout",
                                                                             "stream_overflow",
                                                                             "idle_timeout",
                                                                             "retired"};

/// Waited after accept fails for want of descriptors, which closing connections will free.
constexpr std::chrono::milliseconds kAcceptRetry{100};

base::Result<tcp::endpoint> ParseEndpoint(const std::string& address, uint16_t port) {
  error_code error;
  const auto ip = boost::asio::ip::make_address(address, error);
  if (error) {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("'{}' is not an IP address to listen on; try 0.0.0.0, :: or "
                                  "127.0.0.1",
                                  address));
  }
  return tcp::endpoint(ip, port);
}

error_code OpenAcceptor(tcp::acceptor& acceptor, const tcp::endpoint& endpoint) {
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && endpoint.address().is_v6()) {
    acceptor.set_option(boost::asio::ip::v6_only(false), error);
  }
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(boost::asio::socket_base::max_listen_connections, error);
  return error;
}

}  // namespace

std::string_view ConnectionEventName(ConnectionEvent event) {
  return kEventNames[static_cast<size_t>(event)];
}

base::SteadyTime ConnectionContext::RetireTime() const {
  const std::chrono::milliseconds age = options.limits.max_connection_age;
  if (age.count() == 0) return base::SteadyTime::max();
  // Jitter spreads the reconnects of clients that came together; it is no secret.
  thread_local std::minstd_rand random(std::random_device{}());
  std::uniform_real_distribution<double> factor(0.9, 1.1);
  return clock.Now() + std::chrono::duration_cast<base::SteadyTime::duration>(age * factor(random));
}

/// The accepting half. Loop's thread, except for its construction.
struct HttpServer::State : std::enable_shared_from_this<State> {
  State(boost::asio::io_context& io, std::shared_ptr<ConnectionContext> shared)
      : acceptor(io), retry(io), context(std::move(shared)) {}

  void Accept() {
    acceptor.async_accept([self = shared_from_this()](const error_code& error, tcp::socket socket) {
      self->OnAccept(error, std::move(socket));
    });
  }

  void OnAccept(const error_code& error, tcp::socket socket) {
    if (!acceptor.is_open()) return;
    if (error) {
      LOG_WARNING("{}: cannot accept a connection: {}; retrying", context->options.name,
                  error.message());
      retry.expires_after(kAcceptRetry);
      retry.async_wait([self = shared_from_this()](const error_code& cancelled) {
        if (!cancelled && self->acceptor.is_open()) self->Accept();
      });
      return;
    }
    if (context->open.size() >= context->options.limits.max_connections) {
      context->Observe(ConnectionEvent::kRefusedTooMany);
    } else {
      MakeConnection(std::move(socket), context)->Start();
    }
    Accept();
  }

  void StopAccepting() {
    error_code ignored;
    acceptor.close(ignored);
    retry.cancel();
  }

  /// A copy, since closing takes connections out of the set.
  [[nodiscard]] std::vector<HttpConnection*> Open() const {
    return {context->open.begin(), context->open.end()};
  }

  void Sweep() {
    const base::SteadyTime now = context->clock.Now();
    for (HttpConnection* connection : Open()) connection->Sweep(now);
  }

  void Drain(std::function<void()> done) {
    StopAccepting();
    context->draining = true;
    context->all_closed = std::move(done);
    for (HttpConnection* connection : Open()) connection->Drain();
    if (context->open.empty()) std::exchange(context->all_closed, nullptr)();
  }

  void Abort() {
    StopAccepting();
    for (HttpConnection* connection : Open()) connection->Abort();
  }

  tcp::acceptor acceptor;
  boost::asio::steady_timer retry;
  std::shared_ptr<ConnectionContext> context;
};

base::Result<std::unique_ptr<HttpServer>> HttpServer::Listen(IoLoop& loop,
                                                             HttpServerOptions options,
                                                             HttpHandler& handler,
                                                             const base::Clock& clock) {
  auto endpoint = ParseEndpoint(options.bind_address, options.port);
  if (!endpoint) return std::unexpected(endpoint.error());
  const std::chrono::milliseconds sweep_interval = options.limits.sweep_interval;
  std::shared_ptr<ConnectionContext> context(
      new ConnectionContext{loop.core(), std::move(options), handler, clock, {}, false, nullptr});
  auto state = std::make_shared<State>(loop.core()->context, context);
  if (const error_code error = OpenAcceptor(state->acceptor, *endpoint)) {
    return base::Fail(base::Code::kUnavailable,
                      fmt::format("cannot listen on {}:{} ({}): {}", context->options.bind_address,
                                  context->options.port, context->options.name, error.message()));
  }
  error_code error;
  const uint16_t port = state->acceptor.local_endpoint(error).port();
  loop.Post([state] { state->Accept(); });
  auto sweep = loop.Every(sweep_interval, [state] { state->Sweep(); });
  return std::unique_ptr<HttpServer>(
      new HttpServer(loop.core(), std::move(state), port, std::move(sweep)));
}

HttpServer::HttpServer(std::shared_ptr<LoopCore> loop, std::shared_ptr<State> state, uint16_t port,
                       IoLoop::Ticker sweep)
    : loop_(std::move(loop)), state_(std::move(state)), port_(port), sweep_(std::move(sweep)) {}

HttpServer::~HttpServer() {
  boost::asio::post(loop_->context, [state = std::move(state_)] { state->Abort(); });
}

bool HttpServer::Drain(std::chrono::milliseconds deadline) {
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> drained = done->get_future();
  boost::asio::post(loop_->context,
                    [state = state_, done] { state->Drain([done] { done->set_value(); }); });
  if (drained.wait_for(deadline) == std::future_status::ready) return true;
  boost::asio::post(loop_->context, [state = state_] { state->Abort(); });
  return false;
}

}  // namespace activescale::net
