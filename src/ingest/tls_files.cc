#include "ingest/tls_files.h"

#include <fmt/format.h>

#include <utility>

#include "base/file_text.h"
#include "net/tls_context.h"

namespace activescale::ingest {
namespace {

base::Result<std::string> ReadTlsFile(const std::string& path) {
  auto text = base::ReadFile(path);
  if (!text || text->empty()) {
    return base::Fail(
        base::Code::kInvalidArgument,
        fmt::format("cannot read the TLS file \"{}\": check its path and permissions", path));
  }
  return *std::move(text);
}

}  // namespace

base::Result<void> CheckTlsFiles(const TlsFiles& files) {
  const base::Result<std::string> certificate = ReadTlsFile(files.certificate);
  if (!certificate) return std::unexpected(certificate.error());
  const base::Result<std::string> key = ReadTlsFile(files.private_key);
  if (!key) return std::unexpected(key.error());
  if (const auto context = net::TlsContext::ForServer({*certificate, *key}); !context) {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("cannot serve TLS with {} and {}: {}", files.certificate,
                                  files.private_key, context.error().message));
  }
  if (files.client_ca.empty()) return {};
  const base::Result<std::string> ca = ReadTlsFile(files.client_ca);
  if (!ca) return std::unexpected(ca.error());
  if (ca->find("-----BEGIN CERTIFICATE-----") == std::string::npos) {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("no certificate in PEM form in {}", files.client_ca));
  }
  return {};
}

}  // namespace activescale::ingest
