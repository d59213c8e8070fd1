#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/snapshot.h"
#include "net/tls_context.h"

namespace activescale::net {

/// Where the serving certificate comes from.
struct ServingCertificateOptions {
  /// PEM files; both or none.
  std::string certificate_file;
  std::string private_key_file;
  /// Without files: a self-signed pair is kept here as `apiserver.crt` and `apiserver.key`, the
  /// names that Kubernetes' own servers use. It is used again while it is good for 30 days more.
  std::string directory;
  /// DNS names and IP addresses for the self-signed certificate; empty means LocalNames().
  std::vector<std::string> names;
};

/// The certificate that a TLS server shows, kept equal to its files. Poll and the other non-const
/// functions belong to one thread; `context()` may be read by any.
class ServingCertificate {
 public:
  enum class Reload { kUnchanged, kReloaded, kFailed };

  /// Errors: kInvalidArgument for a pair that does not parse or does not match, kNotFound for files
  /// that cannot be read, kUnavailable for a directory that cannot be written.
  static base::Result<std::unique_ptr<ServingCertificate>> Load(ServingCertificateOptions options,
                                                                const base::Clock& clock);

  /// Reads the files again. A changed pair is published if it parses and matches, else the old one
  /// stays and each different failure is told once (kFailed, and a line in the log): a rotation
  /// writes two files, so one poll may see the new certificate with the old key.
  /// Cost: two small reads; meant for each two seconds, which also holds for volumes whose files
  /// are replaced through a symbolic link, where inotify misses changes.
  Reload Poll();

  /// Takes a pair that was made elsewhere, e.g. signed by a CA that clients know: it replaces the
  /// files in the directory and is published. Errors: kInvalidArgument if it does not parse or
  /// match, or the certificate comes from files that are not ours; kUnavailable if it cannot be
  /// written.
  [[nodiscard]] base::Result<void> Install(const TlsPair& pair);

  /// Never null.
  [[nodiscard]] const base::Snapshot<TlsContext>& context() const { return context_; }
  /// When the certificate in use expires. Threads: any.
  [[nodiscard]] base::WallTime not_after() const { return context_.Get()->not_after(); }

 private:
  ServingCertificate(ServingCertificateOptions options, const base::Clock& clock);
  [[nodiscard]] bool self_signed() const { return options_.certificate_file.empty(); }
  base::Result<TlsPair> Read() const;
  base::Result<TlsPair> ReadOrMake() const;
  [[nodiscard]] bool NeedsRenewal(const TlsPair& pair) const;

  const ServingCertificateOptions options_;
  const base::Clock& clock_;
  const std::string certificate_path_;
  const std::string private_key_path_;
  TlsPair current_;
  std::string last_failure_;
  base::Snapshot<TlsContext> context_;
};

}  // namespace activescale::net
