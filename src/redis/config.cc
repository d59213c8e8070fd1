#include "redis/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "base/file_text.h"
#include "base/percent.h"

namespace activescale::redis {
namespace {

constexpr uint16_t kRedisPort = 6379;
// Source: redis/redis:src/sentinel.c, REDIS_SENTINEL_PORT.
constexpr uint16_t kSentinelPort = 26379;

using Faults = std::vector<std::string>;

/// Splits a URL's user information off `rest` and into `config`. Never names its text.
void TakeUserInfo(std::string_view& rest, Config& config, Faults& faults) {
  // The last @ before the path: a password may hold one that is not encoded.
  const size_t at = rest.substr(0, rest.find('/')).rfind('@');
  if (at == std::string_view::npos) return;
  const std::string_view info = rest.substr(0, at);
  rest.remove_prefix(at + 1);
  const size_t colon = info.find(':');
  const auto user = base::PercentDecode(info.substr(0, colon));
  const auto password =
      colon == std::string_view::npos ? std::string() : base::PercentDecode(info.substr(colon + 1));
  if (!user || !password) {
    faults.push_back("REDIS_ADDR: a % in user or password must be followed by two hex digits");
    return;
  }
  if (!user->empty()) config.login.user = *user;
  if (!password->empty()) config.login.password = Secret(*password);
}

void TakeDatabase(std::string_view& rest, Config& config, Faults& faults) {
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return;
  const std::string_view text = rest.substr(slash + 1);
  rest = rest.substr(0, slash);
  if (text.empty()) return;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), config.database);
  if (error != std::errc() || end != text.data() + text.size() || config.database < 0) {
    config.database = 0;
    faults.push_back(fmt::format(
        "REDIS_ADDR: \"/{}\" is not a database number, e.g. redis://host:6379/0", text));
  }
}

void ParseAddresses(std::string_view text, Config& config, Faults& faults) {
  const size_t scheme_end = text.find("://");
  if (scheme_end != std::string_view::npos) {
    const std::string_view scheme = text.substr(0, scheme_end);
    text.remove_prefix(scheme_end + 3);
    if (scheme == "rediss") {
      config.tls.enabled = true;
    } else if (scheme != "redis") {
      faults.push_back(fmt::format("REDIS_ADDR: scheme \"{}\" is not redis or rediss", scheme));
    }
    TakeUserInfo(text, config, faults);
    TakeDatabase(text, config, faults);
  }
  const uint16_t port = config.mode == Mode::kSentinel ? kSentinelPort : kRedisPort;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    auto address = ParseAddress(text.substr(0, comma), port);
    if (address) {
      config.addresses.push_back(std::move(*address));
    } else {
      faults.push_back(std::move(address.error().message));
    }
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
}

void CheckTls(const TlsConfig& tls, Faults& faults) {
  if (tls.cert_file.empty() != tls.key_file.empty()) {
    faults.push_back("REDIS_CERT_FILE and REDIS_KEY_FILE belong together: give both or neither");
  }
  if (tls.enabled) return;
  for (const auto& [name, set] : {std::pair("REDIS_CA_FILE", !tls.ca_file.empty()),
                                  std::pair("REDIS_CERT_FILE", !tls.cert_file.empty()),
                                  std::pair("REDIS_TLS_SERVER_NAME", !tls.server_name.empty()),
                                  std::pair("REDIS_TLS_INSECURE", tls.insecure)}) {
    if (set) faults.push_back(fmt::format("{} has no effect: set REDIS_TLS=true too", name));
  }
}

void TakeLogin(const std::string& user, const std::string& password, const std::string& file,
               std::string_view prefix, Login& login, Faults& faults) {
  if (!user.empty()) login.user = user;
  if (!password.empty()) login.password = Secret(password);
  login.password_file = file;
  if (!file.empty() && !login.password.empty()) {
    faults.push_back(
        fmt::format("{}PASSWORD and {}PASSWORD_FILE: give one of them", prefix, prefix));
  }
  if (!login.user.empty() && login.empty()) {
    faults.push_back(
        fmt::format("{}USERNAME needs {}PASSWORD or {}PASSWORD_FILE", prefix, prefix, prefix));
  }
}

}  // namespace

base::Result<Secret> Login::ReadPassword() const {
  if (password_file.empty()) return password;
  auto text = base::ReadFile(password_file);
  if (!text) {
    return base::Fail(base::Code::kUnavailable,
                      fmt::format("the password file {} cannot be read", password_file));
  }
  while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
  return Secret(*std::move(text));
}

base::Result<Config> MakeConfig(const Settings& settings) {
  Config config;
  Faults faults;
  config.tls = {settings.tls,       settings.tls_insecure, settings.ca_file,
                settings.cert_file, settings.key_file,     settings.server_name};
  config.sentinel_master = settings.sentinel_master;
  if (!settings.sentinel_master.empty()) config.mode = Mode::kSentinel;

  ParseAddresses(settings.address, config, faults);
  if (config.addresses.empty() && faults.empty()) {
    faults.push_back("REDIS_ADDR: no address, e.g. redis:6379");
  }
  if (config.mode == Mode::kStandalone && (settings.cluster || config.addresses.size() > 1)) {
    config.mode = Mode::kCluster;
  } else if (config.mode == Mode::kSentinel && settings.cluster) {
    faults.push_back("REDIS_CLUSTER and REDIS_SENTINEL_MASTER: a Cluster has no Sentinel");
  }
  if (config.mode == Mode::kCluster && config.database != 0) {
    faults.push_back("REDIS_ADDR: a Cluster has only database 0");
  }
  TakeLogin(settings.user, settings.password, settings.password_file, "REDIS_", config.login,
            faults);
  TakeLogin(settings.sentinel_user, settings.sentinel_password, settings.sentinel_password_file,
            "REDIS_SENTINEL_", config.sentinel_login, faults);
  CheckTls(config.tls, faults);
  if (!faults.empty()) {
    return base::Fail(base::Code::kInvalidArgument, fmt::format("{}", fmt::join(faults, "\n")));
  }
  return config;
}

}  // namespace activescale::redis
