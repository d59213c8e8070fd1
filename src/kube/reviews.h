#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace activescale::kube {

/// Who asks, as Kubernetes names users. Source: kubernetes/api:authentication/v1/types.go.
struct UserInfo {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> extra;  // key, values

  friend bool operator==(const UserInfo&, const UserInfo&) = default;
};

/// Asks who a bearer token belongs to. Threads: any.
class TokenReviewer {
 public:
  /// The user, or nothing if the token is not valid. Errors: kUnavailable or kDeadlineExceeded, the
  /// question got no answer; kPermissionDenied, we may not ask; kResourceExhausted, too many ask.
  using Callback = std::move_only_function<void(base::Result<std::optional<UserInfo>>)>;

  virtual ~TokenReviewer() = default;
  /// `done` runs exactly once, on any thread, within the reviewer's deadline.
  virtual void Review(std::string token, Callback done) = 0;
};

/// What somebody wants to do: to a resource, or to a path that is none.
struct AccessAttributes {
  struct Resource {
    std::string ns;  // empty: cluster-wide
    std::string group;
    std::string version;
    std::string resource;
    std::string subresource;
    std::string name;

    friend bool operator==(const Resource&, const Resource&) = default;
  };
  UserInfo user;
  std::string verb;                  // "get", "list"
  std::optional<Resource> resource;  // nothing: `path` counts
  std::string path;

  friend bool operator==(const AccessAttributes&, const AccessAttributes&) = default;
};

struct AccessDecision {
  bool allowed = false;
  std::string reason;  // the authorizer's words, may be empty
};

/// Asks whether somebody may do something. Threads: any.
class AccessReviewer {
 public:
  /// Errors: as TokenReviewer's.
  using Callback = std::move_only_function<void(base::Result<AccessDecision>)>;

  virtual ~AccessReviewer() = default;
  /// `done` runs exactly once, on any thread, within the reviewer's deadline.
  virtual void Review(AccessAttributes attributes, Callback done) = 0;
};

}  // namespace activescale::kube
