#include "kube/watch_metrics.h"

namespace activescale::kube {
namespace {

telemetry::Counter& Events(telemetry::Registry& registry, const std::string& resource,
                           const char* type) {
  return registry.AddCounter("activescale_kube_watch_events_total",
                             "Events of Kubernetes watches, by resource and type",
                             {{"resource", resource}, {"type", type}});
}

}  // namespace

WatchMetrics::WatchMetrics(telemetry::Registry& registry, const std::string& resource)
    : upserts(Events(registry, resource, "upsert")),
      deletions(Events(registry, resource, "delete")),
      bookmarks(Events(registry, resource, "bookmark")),
      unusable(Events(registry, resource, "unusable")) {
  for (size_t i = 0; i < lists_.size(); ++i) {
    lists_[i] = &registry.AddCounter(
        "activescale_kube_lists_total", "Full lists read from the API server, by resource and why",
        {{"resource", resource},
         {"reason", std::string(Name(static_cast<ListWatch::ListReason>(i)))}});
  }
  for (size_t i = 0; i < failures_.size(); ++i) {
    failures_[i] =
        &registry.AddCounter("activescale_kube_watch_failures_total",
                             "Lists and watches that ended in a failure, by resource and kind",
                             {{"resource", resource},
                              {"reason", std::string(Name(static_cast<RequestFailure::Kind>(i)))}});
  }
}

}  // namespace activescale::kube
