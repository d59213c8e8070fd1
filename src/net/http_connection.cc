#include "net/http_connection.h"

#include <fmt/format.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "net/http_format.h"
#include "net/http_stream.h"
#include "net/openssl_util.h"

namespace activescale::net {

namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

using TlsStream = asio::ssl::stream<tcp::socket>;

constexpr size_t kReadBytes = 8 * 1024;
/// After our last byte the client's are read and thrown away for this long, so that the kernel
/// does not answer them with a reset that would destroy our answer on its way (RFC 9112, 9.6).
constexpr std::chrono::milliseconds kLingerTime{1'000};
constexpr size_t kLingerBytes = 2 * 1024 * 1024;

template <typename Stream>
class Connection final : public HttpConnection,
                         public std::enable_shared_from_this<Connection<Stream>> {
 public:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;

  template <typename... Args>
  explicit Connection(std::shared_ptr<ConnectionContext> context, Args&&... args)
      : context_(std::move(context)), stream_(std::forward<Args>(args)...) {
    context_->open.insert(this);
    context_->Observe(ConnectionEvent::kOpened);
    retire_at_ = context_->RetireTime();
  }

  ~Connection() override {
    if (context_->loop.expired()) {  // the loop is gone, and with it whoever observed
      if (body_) body_->Close();
      context_->open.erase(this);
    } else {
      Abort();
    }
  }

  void Start() override;
  void Sweep(base::SteadyTime now) override;
  void Drain() override;
  void Abort() override;

  /// Takes the handler's answer; on the loop's thread.
  void OnResponse(const HttpResponse& response);

 private:
  enum class Phase : uint8_t {
    kHandshake,
    kIdle,
    kReading,
    kHandling,
    kWriting,
    kStreaming,
    kLinger,
    kClosed
  };

  [[nodiscard]] const HttpServerLimits& limits() const { return context_->options.limits; }
  [[nodiscard]] base::SteadyTime Now() const { return context_->clock.Now(); }
  tcp::socket& socket() {
    if constexpr (kTls) {
      return stream_.next_layer();
    } else {
      return stream_;
    }
  }
  /// A phase ends by itself or by the sweep after its deadline, so each has one.
  void Enter(Phase phase, std::chrono::milliseconds timeout) {
    phase_ = phase;
    deadline_ = Now() + timeout;
  }

  void OnHandshake(const error_code& error);
  void AwaitRequest();
  void Read();
  void OnRead(const error_code& error, size_t size);
  void Parse();
  bool AnswerExpectation();
  void Reject(const error_code& error);
  void Dispatch();
  HttpRequest TakeRequest();
  void Write(const HttpResponse& response);
  void OnWritten(const error_code& error);
  void BeginStream(const HttpResponse& response);
  void SendPieces();
  void WritePieces(std::vector<HttpStream::Piece> pieces);
  void Linger();
  void Discard();

  std::shared_ptr<ConnectionContext> context_;
  Stream stream_;
  std::string peer_address_;
  std::shared_ptr<const PeerCertificate> peer_certificate_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::string output_;
  std::shared_ptr<HttpStream> body_;  // while it is streamed
  bool piece_pending_ = false;
  Phase phase_ = Phase::kHandshake;
  base::SteadyTime deadline_;
  base::SteadyTime retire_at_;
  size_t requests_ = 0;
  size_t discarded_bytes_ = 0;
  bool read_pending_ = false;
  bool write_closed_ = false;
  bool continue_sent_ = false;
  bool head_ = false;
  bool close_after_ = false;
};

/// The right and duty to answer one request. Holds the loop's core first, so that the core is
/// there when the connection is handed to it, and the last reference to a connection always dies
/// on the loop's thread or with the loop.
template <typename Stream>
class Ticket {
 public:
  Ticket(std::shared_ptr<LoopCore> loop, std::shared_ptr<Connection<Stream>> connection)
      : loop_(std::move(loop)), connection_(std::move(connection)) {}
  Ticket(Ticket&&) noexcept = default;
  Ticket& operator=(Ticket&&) = delete;
  ~Ticket() {
    if (connection_) Answer({500, "text/plain", "the handler gave no answer\n", {}});
  }

  void Answer(HttpResponse response) {
    const auto loop = std::move(loop_);
    auto connection = std::move(connection_);
    if (!connection) return;
    asio::dispatch(loop->context.get_executor(),
                   [connection = std::move(connection), response = std::move(response)] {
                     connection->OnResponse(response);
                   });
  }

 private:
  std::shared_ptr<LoopCore> loop_;
  std::shared_ptr<Connection<Stream>> connection_;
};

template <typename Stream>
void Connection<Stream>::Start() {
  error_code error;
  socket().set_option(tcp::no_delay(true), error);
  socket().set_option(asio::socket_base::keep_alive(true), error);
  const tcp::endpoint peer = socket().remote_endpoint(error);
  peer_address_ = FormatAddress(peer.address().to_string(), peer.port());
  if constexpr (kTls) {
    Enter(Phase::kHandshake, limits().handshake_timeout);
    stream_.async_handshake(
        asio::ssl::stream_base::server,
        [self = this->shared_from_this()](const error_code& result) { self->OnHandshake(result); });
  } else {
    AwaitRequest();
  }
}

template <typename Stream>
void Connection<Stream>::OnHandshake(const error_code& error) {
  if (phase_ == Phase::kClosed) return;
  if (error) {
    context_->Observe(ConnectionEvent::kHandshakeFailed);
    return Abort();
  }
  if constexpr (kTls) peer_certificate_ = ReadPeerCertificate(stream_.native_handle());
  AwaitRequest();
}

template <typename Stream>
void Connection<Stream>::Sweep(base::SteadyTime now) {
  if (now < deadline_) return;
  switch (phase_) {
    case Phase::kHandshake:
      context_->Observe(ConnectionEvent::kHandshakeTimeout);
      break;
    case Phase::kIdle:
      context_->Observe(ConnectionEvent::kIdleTimeout);
      return Linger();
    case Phase::kReading:
      context_->Observe(ConnectionEvent::kRequestTimeout);
      break;
    case Phase::kWriting:
    case Phase::kStreaming:
      context_->Observe(ConnectionEvent::kWriteTimeout);
      break;
    case Phase::kHandling:  // the handler's deadlines are its own
      return;
    case Phase::kLinger:
    case Phase::kClosed:
      break;
  }
  Abort();
}

template <typename Stream>
void Connection<Stream>::Drain() {
  close_after_ = true;
  if (phase_ == Phase::kIdle) {
    context_->Observe(ConnectionEvent::kRetired);
    Linger();
  } else if (phase_ == Phase::kStreaming) {
    body_->End();
  }
}

template <typename Stream>
void Connection<Stream>::Abort() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  if (body_) body_->Close();
  error_code ignored;
  socket().close(ignored);
  context_->open.erase(this);
  context_->Observe(ConnectionEvent::kClosed);
  if (context_->draining && context_->open.empty() && context_->all_closed) {
    std::exchange(context_->all_closed, nullptr)();
  }
}

/// Begins with the next request, of which bytes may be here already (pipelining).
template <typename Stream>
void Connection<Stream>::AwaitRequest() {
  parser_.reset();
  Enter(Phase::kIdle, limits().idle_timeout);
  if (buffer_.size() > 0) return Parse();
  Read();
}

template <typename Stream>
void Connection<Stream>::Read() {
  read_pending_ = true;
  stream_.async_read_some(buffer_.prepare(kReadBytes),
                          [self = this->shared_from_this()](const error_code& error, size_t size) {
                            self->OnRead(error, size);
                          });
}

template <typename Stream>
void Connection<Stream>::OnRead(const error_code& error, size_t size) {
  read_pending_ = false;
  if (error) return Abort();
  if (phase_ == Phase::kLinger && write_closed_) return Discard();
  if (phase_ == Phase::kStreaming) return Abort();
  if (phase_ != Phase::kIdle && phase_ != Phase::kReading) return;  // closed or closing meanwhile
  buffer_.commit(size);
  Parse();
}

template <typename Stream>
void Connection<Stream>::Parse() {
  if (!parser_) {
    parser_.emplace();
    parser_->eager(true);
    parser_->header_limit(static_cast<uint32_t>(limits().max_header_bytes));
    parser_->body_limit(limits().max_body_bytes);
    continue_sent_ = false;
    Enter(Phase::kReading, limits().request_timeout);
  }
  error_code error;
  while (buffer_.size() > 0 && !parser_->is_done()) {
    const size_t used = parser_->put(buffer_.data(), error);
    buffer_.consume(used);
    if (error == http::error::need_more) break;
    if (error) return Reject(error);
  }
  if (parser_->is_done()) return Dispatch();
  if (AnswerExpectation()) return;
  Read();
}

/// Sends `100 Continue` to a client that waits for it before it sends the body. True if it did;
/// reading then goes on by itself.
template <typename Stream>
bool Connection<Stream>::AnswerExpectation() {
  if (continue_sent_ || !parser_->is_header_done()) return false;
  if (!beast::iequals(parser_->get()[http::field::expect], "100-continue")) return false;
  continue_sent_ = true;
  output_ = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(stream_, asio::buffer(output_),
                    [self = this->shared_from_this()](const error_code& error, size_t) {
                      if (self->phase_ != Phase::kReading) return;
                      if (error) return self->Abort();
                      self->Read();
                    });
  return true;
}

template <typename Stream>
void Connection<Stream>::Reject(const error_code& error) {
  int status = 400;
  std::string message = "the request is not valid HTTP/1.1: " + error.message();
  ConnectionEvent event = ConnectionEvent::kRequestMalformed;
  if (error == http::error::header_limit) {
    status = 431;
    message = fmt::format("the request line and header fields exceed {} bytes",
                          limits().max_header_bytes);
    event = ConnectionEvent::kHeaderTooLarge;
  } else if (error == http::error::body_limit) {
    status = 413;
    message = fmt::format("the request body exceeds {} bytes", limits().max_body_bytes);
    event = ConnectionEvent::kBodyTooLarge;
  }
  context_->Observe(event);
  close_after_ = true;
  head_ = false;
  const auto& render = context_->options.render_error;
  Write(render ? render(status, message)
               : HttpResponse{status, "text/plain; charset=utf-8", message + "\n", {}});
}

template <typename Stream>
void Connection<Stream>::Dispatch() {
  ++requests_;
  const auto& message = parser_->get();
  head_ = message.method() == http::verb::head;
  close_after_ = close_after_ || !message.keep_alive() || message.version() < 11;
  phase_ = Phase::kHandling;
  auto loop = context_->loop.lock();
  if (!loop) return Abort();
  context_->handler.Handle(
      TakeRequest(), [ticket = Ticket<Stream>(std::move(loop), this->shared_from_this())](
                         HttpResponse response) mutable { ticket.Answer(std::move(response)); });
}

template <typename Stream>
HttpRequest Connection<Stream>::TakeRequest() {
  auto message = parser_->release();
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  request.headers.reserve(16);
  for (const auto& field : message) {
    request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  request.body = std::move(message.body());
  request.peer_address = peer_address_;
  request.peer_certificate = peer_certificate_;
  return request;
}

template <typename Stream>
void Connection<Stream>::OnResponse(const HttpResponse& response) {
  if (phase_ != Phase::kHandling) return;  // aborted meanwhile
  if (!close_after_ && (context_->draining || requests_ >= limits().max_connection_requests ||
                        Now() >= retire_at_)) {
    close_after_ = true;
    context_->Observe(ConnectionEvent::kRetired);
  }
  response.stream ? BeginStream(response) : Write(response);
}

template <typename Stream>
void Connection<Stream>::Write(const HttpResponse& response) {
  Enter(Phase::kWriting, limits().write_timeout);
  output_.clear();
  FormatResponse(response, {.head = head_, .close = close_after_, .now = context_->clock.WallNow()},
                 output_);
  asio::async_write(stream_, asio::buffer(output_),
                    [self = this->shared_from_this()](const error_code& error, size_t) {
                      self->OnWritten(error);
                    });
}

template <typename Stream>
void Connection<Stream>::OnWritten(const error_code& error) {
  if (phase_ != Phase::kWriting && phase_ != Phase::kStreaming) return;
  if (error) return Abort();
  if (phase_ == Phase::kStreaming) {
    piece_pending_ = false;
    return SendPieces();
  }
  // One large answer must not keep its memory for as long as the connection lives.
  if (output_.capacity() > 64 * 1024) output_ = std::string();
  if (close_after_) return Linger();
  AwaitRequest();
}

template <typename Stream>
void Connection<Stream>::BeginStream(const HttpResponse& response) {
  close_after_ = true;
  Write(response);
  if (head_) return response.stream->Close();
  phase_ = Phase::kStreaming;
  body_ = response.stream;
  piece_pending_ = true;  // the head of the answer
  body_->Attach([loop = context_->loop, weak = this->weak_from_this()] {
    const auto core = loop.lock();
    if (!core) return;
    asio::post(core->context, [weak] {
      if (const auto self = weak.lock()) self->SendPieces();
    });
  });
  Read();  // tells when the client goes; what it says meanwhile ends the stream
}

template <typename Stream>
void Connection<Stream>::SendPieces() {
  if (phase_ != Phase::kStreaming) return;
  const HttpStream::State state = body_->state();
  if (state == HttpStream::State::kOverflow) {
    context_->Observe(ConnectionEvent::kStreamOverflow);
    return Abort();
  }
  if (piece_pending_) return;
  std::vector<HttpStream::Piece> pieces = body_->Take();
  if (!pieces.empty()) return WritePieces(std::move(pieces));
  if (state == HttpStream::State::kEnded) return Linger();
  deadline_ = base::SteadyTime::max();  // a stream may rest
}

template <typename Stream>
void Connection<Stream>::WritePieces(std::vector<HttpStream::Piece> pieces) {
  std::vector<asio::const_buffer> buffers;
  buffers.reserve(pieces.size());
  for (const HttpStream::Piece& piece : pieces) buffers.push_back(asio::buffer(*piece));
  piece_pending_ = true;
  deadline_ = Now() + limits().write_timeout;
  asio::async_write(stream_, buffers,
                    [self = this->shared_from_this(), pieces = std::move(pieces)](
                        const error_code& error, size_t) { self->OnWritten(error); });
}

/// Says that nothing more will come, then throws away what the client still sends until it closes.
template <typename Stream>
void Connection<Stream>::Linger() {
  Enter(Phase::kLinger, kLingerTime);
  if (body_) body_->Close();
  auto close_write = [self = this->shared_from_this()](const error_code&) {
    if (self->phase_ != Phase::kLinger) return;
    error_code ignored;
    self->socket().shutdown(tcp::socket::shutdown_send, ignored);
    self->write_closed_ = true;
    // Of two operations that wait for one socket's input, the second may sleep for ever.
    if (!self->read_pending_) self->Discard();
  };
  if constexpr (kTls) {
    stream_.async_shutdown(std::move(close_write));  // after an error, too, the socket is closed
  } else {
    close_write({});
  }
}

template <typename Stream>
void Connection<Stream>::Discard() {
  socket().async_wait(
      tcp::socket::wait_read, [self = this->shared_from_this()](const error_code& error) {
        if (self->phase_ != Phase::kLinger) return;
        std::array<char, 16 * 1024> scratch;
        error_code result = error;
        if (!result) {
          self->discarded_bytes_ += self->socket().read_some(asio::buffer(scratch), result);
        }
        if (result || self->discarded_bytes_ > kLingerBytes) return self->Abort();
        self->Discard();
      });
}

}  // namespace

std::shared_ptr<HttpConnection> MakeConnection(tcp::socket socket,
                                               std::shared_ptr<ConnectionContext> context) {
  if (context->options.tls == nullptr) {
    return std::make_shared<Connection<tcp::socket>>(std::move(context), std::move(socket));
  }
  const std::shared_ptr<const TlsContext> tls = context->options.tls->Get();
  SSL* ssl = SSL_new(tls->native());  // takes its own reference to the context
  return std::make_shared<Connection<TlsStream>>(std::move(context), std::move(socket), ssl);
}

}  // namespace activescale::net
