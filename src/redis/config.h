#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "redis/address.h"

namespace activescale::redis {

/// A password. It has no formatter and no stream operator, so that it cannot slip into a log, an
/// error or a metric; the one way to the text is Reveal.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] const std::string& Reveal() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }

 private:
  std::string text_;
};

/// Who we are at a server. With `password_file` the password is read at each connection attempt,
/// so that a rotated one is used without a restart.
struct Login {
  std::string user;  // empty: Redis's default user
  Secret password;
  std::string password_file;

  [[nodiscard]] bool empty() const { return password.empty() && password_file.empty(); }
  /// The password as of now; a line break at the file's end is not part of it.
  /// Errors: kUnavailable if the file cannot be read, naming the file.
  [[nodiscard]] base::Result<Secret> ReadPassword() const;
};

/// Files are PEM and read at each connection attempt.
struct TlsConfig {
  bool enabled = false;
  bool insecure = false;  // the server's certificate is not verified
  std::string ca_file;    // empty: the system's trust store
  std::string cert_file;  // the client's chain; empty: none
  std::string key_file;
  std::string server_name;  // name in SNI and in the certificate; empty: the host as addressed
};

enum class Mode : uint8_t { kStandalone, kSentinel, kCluster };

/// What the client needs to find and enter a Redis or Valkey.
struct Config {
  Mode mode = Mode::kStandalone;
  std::vector<Address> addresses;  // the server, the Sentinels, or some nodes of the Cluster
  int database = 0;                // always 0 in a Cluster
  Login login;
  TlsConfig tls;  // for Sentinels too
  std::string sentinel_master;
  Login sentinel_login;
};

/// The settings as a user writes them; names in the comments are the environment variables.
struct Settings {
  std::string address;   // REDIS_ADDR: host:port[,host:port...] or redis[s]://[user[:pw]@]host/db
  bool cluster = false;  // REDIS_CLUSTER
  std::string user;      // REDIS_USERNAME
  std::string password;  // REDIS_PASSWORD
  std::string password_file;           // REDIS_PASSWORD_FILE
  bool tls = false;                    // REDIS_TLS
  bool tls_insecure = false;           // REDIS_TLS_INSECURE
  std::string ca_file;                 // REDIS_CA_FILE
  std::string cert_file;               // REDIS_CERT_FILE
  std::string key_file;                // REDIS_KEY_FILE
  std::string server_name;             // REDIS_TLS_SERVER_NAME
  std::string sentinel_master;         // REDIS_SENTINEL_MASTER
  std::string sentinel_user;           // REDIS_SENTINEL_USERNAME
  std::string sentinel_password;       // REDIS_SENTINEL_PASSWORD
  std::string sentinel_password_file;  // REDIS_SENTINEL_PASSWORD_FILE
};

/// Several addresses without a Sentinel master mean a Cluster, as in the Go program. A CA, client
/// certificate or `insecure` switches TLS on only together with REDIS_TLS or rediss://; otherwise
/// it is a fault, since the user would believe in an encryption that is not there.
/// Errors: kInvalidArgument with every fault, one a line; a password is never part of it.
[[nodiscard]] base::Result<Config> MakeConfig(const Settings& settings);

}  // namespace activescale::redis
