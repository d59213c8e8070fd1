#include "kube/credentials.h"

#include <fmt/format.h>

#include <utility>

#include "base/file_text.h"
#include "base/log.h"

namespace activescale::kube {
namespace {

constexpr std::chrono::seconds kTokenMaxAge(60);

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

}  // namespace

base::Result<ClusterAccess> InClusterAccess(std::string_view host, std::string_view port,
                                            const std::string& dir) {
  if (host.empty() || port.empty()) {
    return base::Fail(base::Code::kNotFound,
                      "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are "
                      "not set; give --kubeconfig");
  }
  ClusterAccess access;
  const bool is_ipv6 = host.find(':') != std::string_view::npos;
  access.server = is_ipv6 ? fmt::format("https://[{}]:{}", host, port)
                          : fmt::format("https://{}:{}", host, port);
  access.token_file = dir + "/token";
  access.origin = "service account in " + dir;
  const auto token = base::ReadFile(access.token_file);
  if (!token || Trim(*token).empty()) {
    return base::Fail(base::Code::kNotFound,
                      fmt::format("cannot read the service account's token {}: mount it "
                                  "(automountServiceAccountToken), or give --kubeconfig",
                                  access.token_file));
  }
  auto tls = std::make_shared<net::ClientTls>();
  tls->ca_file = dir + "/ca.crt";
  if (!base::ReadFile(tls->ca_file)) {
    return base::Fail(base::Code::kInvalidArgument,
                      "cannot read the API server's CA " + tls->ca_file);
  }
  access.tls = std::move(tls);
  if (const auto ns = base::ReadFile(dir + "/namespace")) access.ns = Trim(*ns);
  return access;
}

TokenSource::TokenSource(const ClusterAccess& access, const base::Clock& clock)
    : file_(access.token_file), clock_(clock), token_(access.token) {
  if (file_.empty()) return;
  base::MutexLock lock(mutex_);
  Read();
}

std::string TokenSource::Get() {
  base::MutexLock lock(mutex_);
  if (!file_.empty() && clock_.Now() - read_at_ >= kTokenMaxAge) Read();
  return token_;
}

bool TokenSource::Refresh() {
  if (file_.empty()) return false;
  base::MutexLock lock(mutex_);
  return Read();
}

bool TokenSource::Read() {
  read_at_ = clock_.Now();
  const auto text = base::ReadFile(file_);
  const std::string_view token = text ? Trim(*text) : std::string_view();
  if (token.empty()) {
    LOG_WARNING("cannot read the bearer token in {}: the last one stays in use", file_);
    return false;
  }
  const bool changed = token != token_;
  token_ = token;
  return changed;
}

}  // namespace activescale::kube
