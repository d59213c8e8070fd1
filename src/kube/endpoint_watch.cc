#include "kube/endpoint_watch.h"

#include <fmt/format.h>

#include <limits>
#include <set>

#include "kube/json.h"
#include "kube/pod.h"

namespace activescale::kube {
namespace {

namespace json = boost::json;

WatchGroup::Resource EndpointSlices() {
  return {.name = "endpointslices",
          .prefix = "/apis/discovery.k8s.io/v1",
          .field_selector = {},
          .metadata_only = false,
          .mask = {"metadata.labels", "addressType", "ports", "endpoints.addresses",
                   "endpoints.targetRef"}};
}

}  // namespace

EndpointWatch::EndpointWatch(const WatchGroup::Context& context,
                             const std::vector<std::string>& namespaces)
    : sink_([this](const json::object& object) { OnSlice(object); },
            [this](std::string_view ns, std::string_view name) {
              base::MutexLock lock(mutex_);
              slices_.erase({std::string(ns), std::string(name)});
            }),
      group_(context, EndpointSlices(), namespaces, sink_) {}

std::vector<EndpointWatch::Port> EndpointWatch::PortsOf(const json::object& object) {
  std::vector<Port> ports;
  for (const json::object* const port : FindObjects(object, {"ports"})) {
    const json::value* const number = FindValue(*port, {"port"});
    if (number == nullptr || !number->is_int64()) continue;
    const std::string_view protocol = FindString(*port, {"protocol"});
    const int64_t at = number->get_int64();
    if ((!protocol.empty() && protocol != "TCP") || at < 1 ||
        at > std::numeric_limits<uint16_t>::max()) {
      continue;
    }
    ports.push_back({std::string(FindString(*port, {"name"})), static_cast<uint16_t>(at)});
  }
  return ports;
}

void EndpointWatch::OnSlice(const json::object& object) {
  Slice slice{.labels = ParseLabels(object),
              .ipv6 = FindString(object, {"addressType"}) == "IPv6",
              .ports = PortsOf(object)};
  for (const json::object* const endpoint : FindObjects(object, {"endpoints"})) {
    // Only the first address counts.
    const json::array* const addresses = FindArray(*endpoint, {"addresses"});
    if (addresses == nullptr || addresses->empty() || !addresses->front().is_string()) continue;
    const bool is_pod = FindString(*endpoint, {"targetRef", "kind"}) == "Pod";
    slice.endpoints.emplace_back(
        addresses->front().get_string(),
        is_pod ? FindString(*endpoint, {"targetRef", "name"}) : std::string_view());
  }
  base::MutexLock lock(mutex_);
  slices_[{std::string(FindString(object, {"metadata", "namespace"})),
           std::string(FindString(object, {"metadata", "name"}))}] = std::move(slice);
}

base::Result<std::vector<ServiceEndpoint>> EndpointWatch::Find(std::string_view ns,
                                                               const metric::Selector& selector,
                                                               std::string_view port) {
  group_.Start();
  if (auto known = group_.CheckNamespace(ns); !known) {
    return std::unexpected(std::move(known.error()));
  }
  std::vector<ServiceEndpoint> found;
  std::set<std::pair<std::string, std::string>> pods;  // of which service
  base::MutexLock lock(mutex_);
  for (const bool ipv6 : {false, true}) {
    for (auto it = slices_.lower_bound({std::string(ns), ""});
         it != slices_.end() && it->first.first == ns; ++it) {
      const Slice& slice = it->second;
      if (slice.ipv6 != ipv6 || !selector.Matches(slice.labels)) continue;
      const std::string service(slice.labels.Get(kServiceNameLabel).value_or(""));
      for (const Port& at : slice.ports) {
        if (at.name != port && fmt::to_string(at.number) != port) continue;
        for (const auto& [host, pod] : slice.endpoints) {
          if (!pod.empty() && !pods.emplace(service, pod).second) continue;
          found.push_back({service, pod, host, at.number});
        }
        break;
      }
    }
  }
  return found;
}

}  // namespace activescale::kube
