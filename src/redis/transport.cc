#include "redis/transport.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>

#include "net/loop_core.h"

namespace activescale::redis {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

bool IsIpAddress(const std::string& host) {
  error_code error;
  asio::ip::make_address(host, error);
  return !error;
}

base::Result<void> Check(const error_code& error, std::string_view what, const std::string& file) {
  if (!error) return {};
  return base::Fail(base::Code::kUnavailable,
                    fmt::format("{} {}: {}", what, file, error.message()));
}

/// Loads the files of `tls` into `context`.
base::Result<void> Fill(asio::ssl::context& context, const TlsConfig& tls) {
  error_code error;
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  if (tls.insecure) {
    context.set_verify_mode(asio::ssl::verify_none, error);
  } else {
    context.set_verify_mode(asio::ssl::verify_peer, error);
    if (tls.ca_file.empty()) {
      context.set_default_verify_paths(error);
    } else {
      context.load_verify_file(tls.ca_file, error);
    }
    if (auto ok = Check(error, "REDIS_CA_FILE", tls.ca_file); !ok) return ok;
  }
  if (tls.cert_file.empty()) return {};
  context.use_certificate_chain_file(tls.cert_file, error);
  if (auto ok = Check(error, "REDIS_CERT_FILE", tls.cert_file); !ok) return ok;
  context.use_private_key_file(tls.key_file, asio::ssl::context::pem, error);
  return Check(error, "REDIS_KEY_FILE", tls.key_file);
}

/// What a failed handshake means for a person.
std::string ExplainHandshake(const error_code& error, SSL* ssl, const TlsConfig& tls) {
  const long verdict = SSL_get_verify_result(ssl);
  if (!tls.insecure && verdict != X509_V_OK) {
    return fmt::format("TLS: the server's certificate was refused ({}): check REDIS_CA_FILE and {}",
                       X509_verify_cert_error_string(verdict),
                       tls.server_name.empty() ? "set REDIS_TLS_SERVER_NAME if it has another name"
                                               : "REDIS_TLS_SERVER_NAME");
  }
  if (error.category() == asio::error::get_ssl_category() &&
      ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_WRONG_VERSION_NUMBER) {
    return "TLS: the port does not speak TLS: use redis:// or REDIS_TLS=false, or the TLS port";
  }
  if (error == asio::error::eof || error == asio::error::connection_reset ||
      error == asio::ssl::error::stream_truncated) {
    return "TLS: the server closed during the handshake: the port may not speak TLS (redis://)";
  }
  return fmt::format("TLS handshake: {}", error.message());
}

}  // namespace

class Transport::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(asio::io_context& context, Address address, TlsConfig tls, TransportHandler& handler)
      : io_(context),
        address_(std::move(address)),
        tls_(std::move(tls)),
        handler_(&handler),
        resolver_(context),
        socket_(context) {}

  void Start() {
    // Posted even if it fails at once: the owner does not expect a call in its own.
    asio::post(io_, [self = shared_from_this()] { self->Resolve(); });
  }

  void Abandon() {
    handler_ = nullptr;
    resolver_.cancel();
    error_code ignored;
    socket_.close(ignored);
  }

  [[nodiscard]] std::string_view WaitsFor() const { return waits_for_; }

  void Write(std::string_view bytes) {
    pending_.append(bytes);
    if (writing_ || flush_posted_) return;
    flush_posted_ = true;
    asio::post(io_, [self = shared_from_this()] {
      self->flush_posted_ = false;
      self->Flush();
    });
  }

 private:
  void Break(std::string reason, bool at_end = false) {
    if (handler_ == nullptr) return;
    TransportHandler* handler = std::exchange(handler_, nullptr);
    error_code ignored;
    socket_.close(ignored);
    handler->OnBroken(std::move(reason), at_end);
  }

  void Resolve() {
    if (handler_ == nullptr) return;
    if (tls_.enabled) {
      tls_context_.emplace(asio::ssl::context::tls_client);
      if (auto filled = Fill(*tls_context_, tls_); !filled) {
        return Break(std::move(filled.error().message));
      }
    }
    resolver_.async_resolve(
        address_.host, std::to_string(address_.port),
        [self = shared_from_this()](const error_code& error,
                                    const tcp::resolver::results_type& to) {
          if (self->handler_ == nullptr) return;
          if (error)
            return self->Break(fmt::format("cannot resolve the name: {}", error.message()));
          self->Connect(to);
        });
  }

  void Connect(const tcp::resolver::results_type& to) {
    waits_for_ = "the TCP connection";
    asio::async_connect(
        socket_, to,
        [self = shared_from_this()](const error_code& error, const tcp::endpoint& /*peer*/) {
          if (self->handler_ == nullptr) return;
          if (error) return self->Break(fmt::format("cannot connect: {}", error.message()));
          error_code ignored;
          self->socket_.set_option(tcp::no_delay(true), ignored);
          self->tls_.enabled ? self->Handshake() : self->Opened();
        });
  }

  void Handshake() {
    waits_for_ = "the TLS handshake: the port may not speak TLS (redis://)";
    stream_.emplace(socket_, *tls_context_);
    const std::string& name = tls_.server_name.empty() ? address_.host : tls_.server_name;
    if (!IsIpAddress(name)) SSL_set_tlsext_host_name(stream_->native_handle(), name.c_str());
    error_code ignored;
    if (!tls_.insecure)
      stream_->set_verify_callback(asio::ssl::host_name_verification(name), ignored);
    stream_->async_handshake(
        asio::ssl::stream_base::client, [self = shared_from_this()](const error_code& error) {
          if (self->handler_ == nullptr) return;
          if (!error) return self->Opened();
          self->Break(ExplainHandshake(error, self->stream_->native_handle(), self->tls_));
        });
  }

  void Opened() {
    handler_->OnOpen();
    if (handler_ != nullptr) Read();
  }

  void Read() {
    auto done = [self = shared_from_this()](const error_code& error, size_t size) {
      if (self->handler_ == nullptr) return;
      if (error) return self->BreakRead(error);
      self->handler_->OnBytes(std::string_view(self->input_.data(), size));
      if (self->handler_ != nullptr) self->Read();
    };
    if (stream_) {
      stream_->async_read_some(asio::buffer(input_), std::move(done));
    } else {
      socket_.async_read_some(asio::buffer(input_), std::move(done));
    }
  }

  void BreakRead(const error_code& error) {
    if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
      return Break("the server closed the connection", true);
    }
    if (error.category() == asio::error::get_ssl_category()) {
      return Break(fmt::format("TLS: {}: check REDIS_CERT_FILE", error.message()));
    }
    Break(fmt::format("the connection broke: {}", error.message()));
  }

  void Flush() {
    if (handler_ == nullptr || writing_ || pending_.empty()) return;
    writing_ = true;
    output_.swap(pending_);
    pending_.clear();
    auto done = [self = shared_from_this()](const error_code& error, size_t /*size*/) {
      self->writing_ = false;
      if (self->handler_ == nullptr) return;
      if (error) return self->Break(fmt::format("cannot send: {}", error.message()));
      self->Flush();
    };
    if (stream_) {
      asio::async_write(*stream_, asio::buffer(output_), std::move(done));
    } else {
      asio::async_write(socket_, asio::buffer(output_), std::move(done));
    }
  }

  asio::io_context& io_;
  const Address address_;
  const TlsConfig tls_;
  TransportHandler* handler_;  // null once broken or abandoned
  tcp::resolver resolver_;
  tcp::socket socket_;
  std::optional<asio::ssl::context> tls_context_;
  std::optional<asio::ssl::stream<tcp::socket&>> stream_;
  std::array<char, 16 * 1024> input_;
  std::string pending_;  // not yet given to the socket
  std::string output_;   // being sent
  std::string_view waits_for_ = "the address of its name";
  bool writing_ = false;
  bool flush_posted_ = false;
};

Transport::Transport(net::IoLoop& loop, const Address& address, const TlsConfig& tls,
                     TransportHandler& handler)
    : core_(std::make_shared<Core>(loop.core()->context, address, tls, handler)) {
  core_->Start();
}

Transport::~Transport() { core_->Abandon(); }

std::string_view Transport::WaitsFor() const { return core_->WaitsFor(); }

void Transport::Write(std::string_view bytes) { core_->Write(bytes); }

}  // namespace activescale::redis
