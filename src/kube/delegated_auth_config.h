#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "base/error.h"

namespace activescale::kube {

/// What kube-apiserver publishes for servers behind its aggregator in the ConfigMap
/// kube-system/extension-apiserver-authentication. An empty member means that its key is absent.
/// Source: kubernetes/apiserver:pkg/server/options/authentication_dynamic_request_header.go.
struct DelegatedAuthConfig {
  std::string client_ca_pem;          // signs the client certificates of users
  std::string request_header_ca_pem;  // signs the aggregator's own certificate
  std::vector<std::string> username_headers;
  std::vector<std::string> group_headers;
  std::vector<std::string> extra_header_prefixes;
  std::vector<std::string> uid_headers;
  std::vector<std::string> allowed_names;  // common names; empty: any that the CA signed

  friend bool operator==(const DelegatedAuthConfig&, const DelegatedAuthConfig&) = default;
};

/// Reads the ConfigMap. Errors: kInvalidArgument, a list is not JSON or holds no strings, naming
/// the key; the whole is refused then, so that half of it is not trusted.
[[nodiscard]] base::Result<DelegatedAuthConfig> ParseDelegatedAuthConfig(
    const boost::json::object& config_map);

}  // namespace activescale::kube
