#include "net/serving_certificate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "net/self_signed.h"

namespace activescale::net {

namespace {

constexpr std::chrono::hours kSelfSignedLifetime{24 * 365};
constexpr std::chrono::hours kRenewBefore{24 * 30};
constexpr size_t kMaxFileBytes = 256 * 1024;

std::string ErrnoText(int error) { return std::generic_category().message(error); }

base::Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return base::Fail(base::Code::kNotFound,
                      fmt::format("cannot read {}: {}", path, ErrnoText(errno)));
  }
  std::string text(kMaxFileBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

/// Replaces `path` in one step; nobody but the owner can read it at any moment.
base::Result<void> WriteFile(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".new";
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool written = fd >= 0 && write(fd, text.data(), text.size()) == std::ssize(text);
  const int error = errno;
  if (fd >= 0) written = close(fd) == 0 && written;
  if (!written || rename(temporary.c_str(), path.c_str()) != 0) {
    return base::Fail(
        base::Code::kUnavailable,
        fmt::format("cannot write the serving certificate to {}: {}; make the directory "
                    "writable, or give --tls-cert-file and --tls-private-key-file",
                    path, ErrnoText(written ? errno : error)));
  }
  return {};
}

/// The key first: a reader that finds the new certificate finds its key too.
base::Result<void> WritePair(const TlsPair& pair, const std::string& certificate_path,
                             const std::string& private_key_path) {
  auto written = WriteFile(private_key_path, pair.private_key_pem);
  return written ? WriteFile(certificate_path, pair.certificate_pem) : written;
}

base::Result<TlsPair> MakeInDirectory(const ServingCertificateOptions& options,
                                      const std::string& certificate_path,
                                      const std::string& private_key_path, base::WallTime now) {
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  auto pair = MakeSelfSigned(options.names.empty() ? LocalNames() : options.names, now,
                             kSelfSignedLifetime);
  if (!pair) return pair;
  if (auto written = WritePair(*pair, certificate_path, private_key_path); !written) {
    return std::unexpected(written.error());
  }
  LOG_INFO("made a self-signed serving certificate: {}", certificate_path);
  return pair;
}

}  // namespace

ServingCertificate::ServingCertificate(ServingCertificateOptions options, const base::Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      certificate_path_(self_signed() ? options_.directory + "/apiserver.crt"
                                      : options_.certificate_file),
      private_key_path_(self_signed() ? options_.directory + "/apiserver.key"
                                      : options_.private_key_file) {}

base::Result<std::unique_ptr<ServingCertificate>> ServingCertificate::Load(
    ServingCertificateOptions options, const base::Clock& clock) {
  if (options.certificate_file.empty() != options.private_key_file.empty()) {
    return base::Fail(base::Code::kInvalidArgument,
                      "a serving certificate needs both its certificate file and its private key "
                      "file, or neither");
  }
  std::unique_ptr<ServingCertificate> self(new ServingCertificate(std::move(options), clock));
  auto pair = self->ReadOrMake();
  if (!pair) return std::unexpected(pair.error());
  auto context = TlsContext::ForServer(*pair);
  if (!context) {
    return base::Fail(context.error().code,
                      fmt::format("{} with {}: {}", self->certificate_path_,
                                  self->private_key_path_, context.error().message));
  }
  self->current_ = *std::move(pair);
  self->context_.Set(*std::move(context));
  return self;
}

ServingCertificate::Reload ServingCertificate::Poll() {
  auto failed = [this](const base::Error& error) {
    if (error.message == last_failure_) return Reload::kUnchanged;
    last_failure_ = error.message;
    LOG_WARNING("the serving certificate was not reloaded and the old one stays in use: {}",
                error.message);
    return Reload::kFailed;
  };
  auto pair = ReadOrMake();
  if (!pair) return failed(pair.error());
  if (*pair == current_) {
    last_failure_.clear();
    return Reload::kUnchanged;
  }
  auto context = TlsContext::ForServer(*pair);
  if (!context) return failed(context.error());
  context_.Set(*std::move(context));
  current_ = *std::move(pair);
  last_failure_.clear();
  LOG_INFO("reloaded the serving certificate {}", certificate_path_);
  return Reload::kReloaded;
}

base::Result<void> ServingCertificate::Install(const TlsPair& pair) {
  if (!self_signed()) {
    return base::Fail(
        base::Code::kInvalidArgument,
        fmt::format("{} belongs to --tls-cert-file; it is not replaced", certificate_path_));
  }
  auto context = TlsContext::ForServer(pair);
  if (!context) return std::unexpected(context.error());
  if (auto written = WritePair(pair, certificate_path_, private_key_path_); !written) {
    return written;
  }
  context_.Set(*std::move(context));
  current_ = pair;
  return {};
}

base::Result<TlsPair> ServingCertificate::Read() const {
  auto certificate = ReadFile(certificate_path_);
  if (!certificate) return std::unexpected(certificate.error());
  auto key = ReadFile(private_key_path_);
  if (!key) return std::unexpected(key.error());
  return TlsPair{*std::move(certificate), *std::move(key)};
}

base::Result<TlsPair> ServingCertificate::ReadOrMake() const {
  auto pair = Read();
  if (!self_signed()) return pair;
  if (pair && !NeedsRenewal(*pair)) return pair;
  return MakeInDirectory(options_, certificate_path_, private_key_path_, clock_.WallNow());
}

bool ServingCertificate::NeedsRenewal(const TlsPair& pair) const {
  const base::WallTime latest = clock_.WallNow() + kRenewBefore;
  if (pair == current_) return not_after() < latest;
  auto context = TlsContext::ForServer(pair);
  return !context || (*context)->not_after() < latest;
}

}  // namespace activescale::net
