#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <optional>
#include <utility>

#include "base/file_text.h"
#include "kube/credentials.h"
#include "net/base64.h"

// yaml-cpp throws; nothing of it leaves this file. Messages name fields, never their values: a
// kubeconfig holds secrets.

namespace activescale::kube {
namespace {

using base::Code;

/// Reads one kubeconfig and says what is wrong in it.
class Reader {
 public:
  Reader(std::string path, const YAML::Node& root) : path_(std::move(path)), root_(root) {}

  base::Result<ClusterAccess> Read(std::string_view wanted_context);

 private:
  [[nodiscard]] std::unexpected<base::Error> Fail(Code code, std::string_view what) const {
    return base::Fail(code, fmt::format("kubeconfig {}: {}", path_, what));
  }
  base::Result<YAML::Node> Named(const char* list, const char* member, const std::string& name);
  base::Result<void> ReadCluster(const YAML::Node& cluster, net::ClientTls& tls,
                                 ClusterAccess& access);
  base::Result<void> ReadUser(const YAML::Node& user, net::ClientTls& tls, ClusterAccess& access);
  base::Result<void> ReadPem(const YAML::Node& node, const char* key, std::string& file,
                             std::string& pem) const;
  [[nodiscard]] std::string Resolve(const std::string& file) const;
  static std::string Text(const YAML::Node& node, const char* key) {
    const YAML::Node value = node[key];
    return value && value.IsScalar() ? value.Scalar() : std::string();
  }

  const std::string path_;
  const YAML::Node root_;
};

std::string Reader::Resolve(const std::string& file) const {
  if (file.starts_with('/')) return file;
  const size_t slash = path_.rfind('/');
  return slash == std::string::npos ? file : path_.substr(0, slash + 1) + file;
}

/// The entry of that name in one of the three lists of names.
base::Result<YAML::Node> Reader::Named(const char* list, const char* member,
                                       const std::string& name) {
  std::string known;
  if (const YAML::Node entries = root_[list]; entries && entries.IsSequence()) {
    for (const YAML::Node& entry : entries) {
      if (!entry.IsMap()) continue;
      const std::string entry_name = Text(entry, "name");
      if (entry_name == name && entry[member] && entry[member].IsMap()) return entry[member];
      known += (known.empty() ? "" : ", ") + entry_name;
    }
  }
  return Fail(Code::kInvalidArgument, fmt::format("no {} named '{}' in {} (there: {})", member,
                                                  name, list, known.empty() ? "none" : known));
}

base::Result<void> Reader::ReadPem(const YAML::Node& node, const char* key, std::string& file,
                                   std::string& pem) const {
  const std::string data_key = std::string(key) + "-data";
  if (const std::string data = Text(node, data_key.c_str()); !data.empty()) {
    auto decoded = net::DecodeBase64(data);
    if (!decoded || decoded->find("-----BEGIN") == std::string::npos) {
      return Fail(Code::kInvalidArgument, data_key + " is not PEM in base64");
    }
    pem = std::move(*decoded);
    return {};
  }
  const std::string name = Text(node, key);
  if (name.empty()) return {};
  file = Resolve(name);
  const auto text = base::ReadFile(file);
  if (!text || text->find("-----BEGIN") == std::string::npos) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: {} is not readable or not PEM", key, file));
  }
  return {};
}

base::Result<void> Reader::ReadCluster(const YAML::Node& cluster, net::ClientTls& tls,
                                       ClusterAccess& access) {
  access.server = Text(cluster, "server");
  while (access.server.ends_with('/')) access.server.pop_back();
  if (!access.server.starts_with("https://") && !access.server.starts_with("http://")) {
    return Fail(Code::kInvalidArgument, "the cluster's server is not an https:// URL");
  }
  if (auto read = ReadPem(cluster, "certificate-authority", tls.ca_file, tls.ca_pem); !read) {
    return read;
  }
  tls.server_name = Text(cluster, "tls-server-name");
  tls.insecure_skip_verify = Text(cluster, "insecure-skip-tls-verify") == "true";
  if (tls.insecure_skip_verify && (!tls.ca_file.empty() || !tls.ca_pem.empty())) {
    return Fail(Code::kInvalidArgument,
                "insecure-skip-tls-verify and a certificate-authority exclude each other");
  }
  access.proxy = Text(cluster, "proxy-url");
  return {};
}

base::Result<void> Reader::ReadUser(const YAML::Node& user, net::ClientTls& tls,
                                    ClusterAccess& access) {
  constexpr std::array<std::pair<const char*, const char*>, 5> kRefused = {{
      {"exec",
       "exec plugins are not run; use a service account token (tokenFile) or a client "
       "certificate"},
      {"auth-provider",
       "auth-provider plugins are not supported; use a service account token "
       "(tokenFile) or a client certificate"},
      {"username", "passwords are not supported; Kubernetes has no basic authentication any more"},
      {"password", "passwords are not supported; Kubernetes has no basic authentication any more"},
      {"as", "impersonation is not supported; use the credentials of that user"},
  }};
  for (const auto& [key, why] : kRefused) {
    if (user[key] && !user[key].IsNull()) {
      return Fail(Code::kUnimplemented, fmt::format("user has '{}': {}", key, why));
    }
  }
  if (auto read = ReadPem(user, "client-certificate", tls.cert_file, tls.cert_pem); !read) {
    return read;
  }
  if (auto read = ReadPem(user, "client-key", tls.key_file, tls.key_pem); !read) return read;
  const bool has_cert = !tls.cert_file.empty() || !tls.cert_pem.empty();
  const bool has_key = !tls.key_file.empty() || !tls.key_pem.empty();
  if (has_cert != has_key) {
    return Fail(Code::kInvalidArgument,
                "client-certificate and client-key need each other; one is missing");
  }
  access.token = Text(user, "token");
  if (const std::string file = Text(user, "tokenFile"); !file.empty()) {
    access.token_file = Resolve(file);
    const auto text = base::ReadFile(access.token_file);
    if (!text || text->empty()) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("tokenFile: {} is not readable or empty", access.token_file));
    }
  }
  return {};
}

base::Result<ClusterAccess> Reader::Read(std::string_view wanted_context) {
  if (!root_.IsMap()) return Fail(Code::kInvalidArgument, "not a kubeconfig (no YAML map)");
  std::string name(wanted_context);
  if (name.empty()) name = Text(root_, "current-context");
  if (name.empty()) return Fail(Code::kInvalidArgument, "no current-context is set");
  auto context = Named("contexts", "context", name);
  if (!context) return std::unexpected(context.error());
  auto cluster = Named("clusters", "cluster", Text(*context, "cluster"));
  if (!cluster) return std::unexpected(cluster.error());

  ClusterAccess access;
  access.ns = Text(*context, "namespace");
  access.origin = fmt::format("kubeconfig {}, context {}", path_, name);
  auto tls = std::make_shared<net::ClientTls>();
  if (auto read = ReadCluster(*cluster, *tls, access); !read) {
    return std::unexpected(read.error());
  }
  // A context without a user, and a user without members, ask anonymously.
  if (const std::string user_name = Text(*context, "user"); !user_name.empty()) {
    auto user = Named("users", "user", user_name);
    if (!user) return std::unexpected(user.error());
    if (auto read = ReadUser(*user, *tls, access); !read) return std::unexpected(read.error());
  }
  access.tls = std::move(tls);
  return access;
}

}  // namespace

base::Result<ClusterAccess> LoadKubeconfig(const std::string& path, std::string_view context) {
  const auto text = base::ReadFile(path);
  if (!text) {
    return base::Fail(Code::kNotFound,
                      fmt::format("cannot read kubeconfig {}: check the path and its mode", path));
  }
  try {
    return Reader(path, YAML::Load(*text)).Read(context);
  } catch (const YAML::Exception& error) {
    return base::Fail(Code::kInvalidArgument,
                      fmt::format("kubeconfig {} is not YAML: line {}, column {}", path,
                                  error.mark.line + 1, error.mark.column + 1));
  }
}

}  // namespace activescale::kube
