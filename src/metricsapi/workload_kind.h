#pragma once

#include <array>
#include <string_view>

namespace activescale::metricsapi {

/// A kind of object whose metric is the sum over its pods.
struct WorkloadKind {
  std::string_view resource;  // with its group, as paths have it
  std::string_view kind;
  std::string_view api_version;
};

/// The kinds that discovery names. Others that own pods are answered too, with the resource as
/// their kind: the HPA does not read it.
inline constexpr std::array<WorkloadKind, 7> kWorkloadKinds = {{
    {"deployments.apps", "Deployment", "apps/v1"},
    {"statefulsets.apps", "StatefulSet", "apps/v1"},
    {"daemonsets.apps", "DaemonSet", "apps/v1"},
    {"replicasets.apps", "ReplicaSet", "apps/v1"},
    {"jobs.batch", "Job", "batch/v1"},
    {"cronjobs.batch", "CronJob", "batch/v1"},
    {"services", "Service", "v1"},
}};

}  // namespace activescale::metricsapi
