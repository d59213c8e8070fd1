#include "ingest/tls_files.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "net/tls_context.h"

namespace activescale::ingest {
namespace {

base::Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file || text.empty()) {
    return base::Fail(
        base::Code::kInvalidArgument,
        fmt::format("cannot read the TLS file \"{}\": check its path and permissions", path));
  }
  return text;
}

}  // namespace

base::Result<void> CheckTlsFiles(const TlsFiles& files) {
  const base::Result<std::string> certificate = ReadFile(files.certificate);
  if (!certificate) return std::unexpected(certificate.error());
  const base::Result<std::string> key = ReadFile(files.private_key);
  if (!key) return std::unexpected(key.error());
  if (const auto context = net::TlsContext::ForServer({*certificate, *key}); !context) {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("cannot serve TLS with {} and {}: {}", files.certificate,
                                  files.private_key, context.error().message));
  }
  if (files.client_ca.empty()) return {};
  const base::Result<std::string> ca = ReadFile(files.client_ca);
  if (!ca) return std::unexpected(ca.error());
  if (ca->find("-----BEGIN CERTIFICATE-----") == std::string::npos) {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("no certificate in PEM form in {}", files.client_ca));
  }
  return {};
}

}  // namespace activescale::ingest
