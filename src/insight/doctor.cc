#include "insight/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace activescale::insight {
namespace {

// kube-controller-manager's default of --kube-api-qps, and its sync of HPAs.
constexpr double kDefaultQps = 20;
constexpr double kSyncSeconds = 15;

Finding JudgeLoad(const ControllerLoad& load) {
  const double qps = load.qps.value_or(kDefaultQps);
  // Each kind of client in the controller has that limit of its own; the busiest one is late.
  const auto reads = static_cast<double>(std::max(load.autoscalers, load.custom_reads));
  const std::string so =
      fmt::format("{} HPAs with {} custom metrics; its client asks {:g} times a second{}",
                  load.autoscalers, load.custom_reads, qps, load.qps ? "" : " by default");
  if (reads <= qps * kSyncSeconds) return {Level::kOk, "HPA controller", so, {}};
  return {
      Level::kWarning, "HPA controller",
      fmt::format("{}, so one round takes {:.0f} s and not {:g}", so, reads / qps, kSyncSeconds),
      "raise kube-controller-manager's --kube-api-qps and --kube-api-burst"};
}

void Append(Findings&& from, Findings& to) { std::ranges::move(from, std::back_inserter(to)); }

}  // namespace

Findings Diagnose(const DoctorFacts& facts) {
  if (!facts.version) {
    return {{Level::kFailure, "cluster", facts.version.error().message,
             "check the kubeconfig, its context and the network; without a cluster give "
             "--standalone or --envoy-config"}};
  }
  Findings out{{Level::kOk, "cluster", fmt::format("{} is {}", facts.server, *facts.version), {}}};
  ReplicaSettings settings;
  if (facts.install) {
    Append(DiagnoseInstall(*facts.install), out);
    settings = facts.install->settings;
  }
  if (facts.workload) {
    const auto& workload = *facts.workload;
    if (workload) {
      Append(DiagnoseWorkload(*workload, settings), out);
    } else {
      const bool absent = workload.error().code == base::Code::kNotFound;
      out.push_back({Level::kFailure, fmt::format("HPA {}", facts.hpa), workload.error().message,
                     absent ? "name it as --hpa NAMESPACE/NAME: kubectl get hpa -A"
                            : "doctor needs get on it, on its target's scale and on pods"});
    }
  }
  if (facts.load) {
    out.push_back(JudgeLoad(*facts.load));
  } else {
    out.push_back({Level::kWarning, "HPA controller", facts.load.error().message,
                   "doctor needs list on horizontalpodautoscalers"});
  }
  return out;
}

}  // namespace activescale::insight
