#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/mutex.h"
#include "kube/watch_group.h"
#include "kube/watcher.h"
#include "metric/labels.h"
#include "metric/selector.h"

namespace activescale::kube {

/// The label of an EndpointSlice that names its Service.
inline constexpr std::string_view kServiceNameLabel = "kubernetes.io/service-name";

/// Where one of those that serve a Service is reached.
struct ServiceEndpoint {
  std::string service;
  std::string pod;   // empty: it is none
  std::string host;  // an address
  uint16_t port = 0;

  friend bool operator==(const ServiceEndpoint&, const ServiceEndpoint&) = default;
};

/// The endpoints of Services, ready or not, from EndpointSlices. Nothing is watched before the
/// first question. Threads: any. Destroy it only when the HTTP client's Run has returned.
class EndpointWatch {
 public:
  /// `namespaces` empty: all.
  EndpointWatch(const WatchGroup::Context& context, const std::vector<std::string>& namespaces);

  /// The endpoints of a namespace at the TCP port of that name or number, in the slices that match:
  /// a slice has the labels of its Service, and kServiceNameLabel. A pod with addresses
  /// of both families is there once, by IPv4. Errors: as WatchGroup::CheckNamespace.
  /// Source: kubernetes/api:discovery/v1/types.go.
  [[nodiscard]] base::Result<std::vector<ServiceEndpoint>> Find(std::string_view ns,
                                                                const metric::Selector& selector,
                                                                std::string_view port);

 private:
  struct Port {
    std::string name;
    uint16_t number = 0;
  };
  struct Slice {
    metric::Labels labels;
    bool ipv6 = false;
    std::vector<Port> ports;
    std::vector<std::pair<std::string, std::string>> endpoints;  // address, pod
  };

  void OnSlice(const boost::json::object& object);
  static std::vector<Port> PortsOf(const boost::json::object& object);

  mutable base::Mutex mutex_;
  std::map<std::pair<std::string, std::string>, Slice> slices_ GUARDED_BY(mutex_);  // by ns, name
  FunctionSink sink_;
  WatchGroup group_;
};

}  // namespace activescale::kube
