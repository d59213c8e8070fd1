#pragma once

#include <functional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "insight/collector.h"
#include "insight/doctor_facts.h"
#include "kube/api_client.h"

namespace activescale::insight {

/// How a cluster and health ports are asked. Every call is waited for and has a deadline.
struct ClusterReader {
  GetJson get;
  std::function<kube::ApiResult<boost::json::object>(const std::string& path,
                                                     const std::string& json)>
      post;
  std::function<base::Result<std::string>(const std::string& path)> text;  // at the API server
  std::function<base::Result<std::string>(const std::string& url)>
      fetch;  // any status is an answer
};

/// What `doctor` is asked to look at.
struct DoctorQuestion {
  std::string server;   // for messages
  std::string ns;       // of our Service
  std::string service;  // its name
  std::string hpa_ns;   // with hpa: the HPA to look at; empty: none
  std::string hpa;
  /// host:port of health ports to ask instead of the replicas by way of the API server.
  std::vector<std::string> health_addresses;
  base::WallTime now;
};

/// Asks for all facts. What cannot be read is an error within them.
[[nodiscard]] DoctorFacts Gather(const ClusterReader& reader, const DoctorQuestion& question);

/// One health port, asked directly.
[[nodiscard]] ReplicaHealth GatherHealth(const ClusterReader& reader, const std::string& address,
                                         base::WallTime now);

/// The health ports of `question.health_addresses`, or of the pods of its Service by way of the API
/// server. Errors: the Service or its pods cannot be read.
[[nodiscard]] base::Result<std::vector<ReplicaHealth>> GatherHealths(
    const ClusterReader& reader, const DoctorQuestion& question);

/// Path of the custom metrics API in the version that the API server prefers, as the controller
/// has it.
[[nodiscard]] std::string CustomMetricsRoot(const ClusterReader& reader);

/// Whether our API answers so of pods that nobody hears, and not somebody else of an API, a metric
/// or a path that there is not.
[[nodiscard]] bool MeansNoTelemetry(const kube::ApiError& error);

/// The workload of an HPA and what its pods answer. Errors: as Collect.
[[nodiscard]] base::Result<WorkloadFacts> GatherWorkload(const ClusterReader& reader,
                                                         const DoctorQuestion& question);

}  // namespace activescale::insight
