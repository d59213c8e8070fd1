#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "insight/sidecar.h"
#include "insight/snapshot.h"

/// What `doctor` knows when it judges. A Result that is an error could not be read, and its code
/// says why: kNotFound, there is none; kPermissionDenied, the one who asks may not see it.
namespace activescale::insight {

/// A version of a metrics API as the aggregator has it.
struct ApiService {
  std::string owner;  // of what serves it: "namespace/service"
  bool has_ca = false;
  bool insecure = false;  // insecureSkipTLSVerify
  bool available = false;
  std::string reason;  // of the condition Available
  std::string message;
};

struct ApiServiceFact {
  std::string version;  // "v1beta2"
  base::Result<ApiService> found;
};

/// Whether our service account may do something that it needs.
struct Right {
  std::string action;       // "list pods"
  std::string consequence;  // what does not work without: "no metric can be read"
  bool essential = true;    // false: only some metrics need it
  base::Result<bool> allowed;
};

/// Sums of our own metrics by family, or by family and label: `name{reason="x"}`.
using Samples = std::map<std::string, double, std::less<>>;

/// What one replica's health port says.
struct ReplicaHealth {
  std::string replica;  // the pod, or the address that was asked
  base::WallTime asked_at;
  base::Result<std::string> readyz;
  base::Result<Samples> metrics;
};

/// A pod of our own.
struct Replica {
  std::string pod;
  bool ready = false;
  std::string state;  // why it is not: phase, waiting reason, condition
};

/// The flags of the replicas that decide here.
struct ReplicaSettings {
  std::chrono::nanoseconds ttl = std::chrono::seconds(20);
  bool shared_store = false;
  bool external_metrics = false;
  std::string service_account = "activescale";
  std::vector<std::string> namespaces;  // empty: all
};

/// The Service that Envoys push to.
struct PushService {
  bool headless = false;
  bool selects_replicas = false;
};

/// An installation in a cluster.
struct InstallFacts {
  std::string service;  // "namespace/name"
  std::vector<ApiServiceFact> custom;
  base::Result<ApiService> external;
  std::vector<Right> rights;
  base::Result<PushService> push;
  /// Of the pods that the Service selects; kUnimplemented if it selects by no labels.
  base::Result<std::vector<Replica>> replicas;
  ReplicaSettings settings;
  std::vector<ReplicaHealth> health;
};

/// A pod that an HPA counts.
struct WorkloadPod {
  std::string name;
  std::string owner;  // "Deployment/web"; "" for a pod that nobody controls
  bool live = true;   // neither finished nor being deleted
  bool ready = true;
  Sidecar sidecar;
};

/// What one of our metrics is for pods, through the aggregator: milli-units by pod.
using PodValues = base::Result<std::map<std::string, int64_t>>;

/// A workload that an HPA scales.
struct WorkloadFacts {
  Snapshot snapshot;
  std::vector<WorkloadPod> pods;
  std::map<std::string, PodValues, std::less<>> values;  // by metric
  ProxySettings template_settings;  // of the annotation in the owner's pod template
  ProxySettings mesh_settings;      // of MeshConfig
};

/// What the HPA controller asks in one sync, of all HPAs together.
struct ControllerLoad {
  int64_t autoscalers = 0;
  int64_t custom_reads = 0;   // of Pods and Object metrics
  std::optional<double> qps;  // --kube-api-qps where the controller's pod can be seen
};

struct DoctorFacts {
  std::string server;                   // that was asked
  base::Result<std::string> version;    // of kube-apiserver
  std::optional<InstallFacts> install;  // absent: there is no cluster to look at
  std::optional<base::Result<WorkloadFacts>> workload;
  std::string hpa;  // "namespace/name" that was asked for
  base::Result<ControllerLoad> load;
};

}  // namespace activescale::insight
