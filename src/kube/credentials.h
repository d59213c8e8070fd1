#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "net/http_client.h"

namespace activescale::kube {

/// Where an API server is and as whom we ask it.
struct ClusterAccess {
  std::string server;  // "https://10.0.0.1:443", perhaps with a path; no slash at the end
  std::shared_ptr<const net::ClientTls> tls;
  std::string proxy;       // URL; empty: what HTTPS_PROXY and NO_PROXY say
  std::string token;       // bearer token that stays as it is
  std::string token_file;  // one that rotates; counts before `token`
  std::string ns;          // of the service account or context; may be empty
  std::string origin;      // for messages: "kubeconfig /etc/kube.yaml, context admin"
};

/// Where Kubernetes mounts a pod's service account.
inline constexpr std::string_view kServiceAccountDir =
    "/var/run/secrets/kubernetes.io/serviceaccount";

/// Access of a pod by its service account. `host` and `port` are KUBERNETES_SERVICE_HOST and _PORT.
/// Errors: kNotFound, not in a cluster (no host or no token file); kInvalidArgument, no CA.
[[nodiscard]] base::Result<ClusterAccess> InClusterAccess(std::string_view host,
                                                          std::string_view port,
                                                          const std::string& dir);

/// Access as a kubeconfig's `context` says, of its current-context if empty. Client certificates,
/// tokens, token files, CAs in data and file form; file names are relative to the kubeconfig.
/// Errors: kNotFound or kInvalidArgument, naming the file and the field and never a value;
/// kUnimplemented, exec and auth-provider plugins, passwords, impersonation.
/// Source: kubernetes/client-go:tools/clientcmd/api/v1/types.go.
[[nodiscard]] base::Result<ClusterAccess> LoadKubeconfig(const std::string& path,
                                                         std::string_view context = {});

/// The bearer token of an access, read again from its file as it rotates. Threads: any.
class TokenSource {
 public:
  TokenSource(const ClusterAccess& access, const base::Clock& clock);

  /// The token, "" if the access has none. A file is read again when what we have of it is older
  /// than a minute; if that fails, the last good one stays.
  [[nodiscard]] std::string Get();
  /// The server refused the token: reads the file now. Whether it changed.
  bool Refresh();

 private:
  bool Read() REQUIRES(mutex_);

  const std::string file_;
  const base::Clock& clock_;
  base::Mutex mutex_;
  std::string token_ GUARDED_BY(mutex_);
  base::SteadyTime read_at_ GUARDED_BY(mutex_);
};

}  // namespace activescale::kube
