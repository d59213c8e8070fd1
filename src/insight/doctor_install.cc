#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "insight/doctor.h"

namespace activescale::insight {
namespace {

constexpr std::string_view kGroup = "custom.metrics.k8s.io";

/// Words in what the aggregator says of an API that it cannot use, and what they mean.
struct Symptom {
  std::string_view words;
  std::string_view meaning;
  std::string_view advice;
};
constexpr Symptom kSymptoms[] = {
    {"certificate has expired", "the replica's serving certificate has expired",
     "renew it (cert-manager, or restart a replica that signs its own)"},
    {"certificate is valid for", "the serving certificate does not name the Service",
     "issue it for <service>.<namespace>.svc"},
    {"certificate signed by unknown authority",
     "wrong CA: caBundle is not of the authority that signed the replica's certificate",
     "run with --manage-apiservice-ca, or put the right CA into spec.caBundle"},
    {"x509", "the replica's certificate does not verify", "compare spec.caBundle with its issuer"},
    {"connection refused", "nothing listens there: the port is refused",
     "compare the port of the APIService, the Service's targetPort and --secure-port"},
    {"i/o timeout", "no answer from there", "look for a NetworkPolicy or firewall in between"},
    {"deadline exceeded", "no answer from there",
     "look for a NetworkPolicy or firewall between kube-apiserver and the pod"},
    {"no such host", "the Service's name does not resolve", "correct spec.service"},
};

const Symptom* FindSymptom(std::string_view message) {
  for (const Symptom& symptom : kSymptoms) {
    if (message.find(symptom.words) != std::string_view::npos) return &symptom;
  }
  return nullptr;
}

std::string CheckOf(const ApiServiceFact& fact) {
  return fmt::format("APIService {}.{}", fact.version, kGroup);
}

/// That it exists, is ours and can be verified: what stands in the object itself.
void JudgeOwners(const InstallFacts& facts, Findings& out) {
  const auto missing = [](const ApiServiceFact& fact) {
    return !fact.found && fact.found.error().code == base::Code::kNotFound;
  };
  if (std::ranges::all_of(facts.custom, missing)) {
    out.push_back({Level::kFailure, fmt::format("APIServices of {}", kGroup),
                   "there are none, so no HPA can read custom metrics",
                   "install them: docs/install.md"});
    return;
  }
  for (const ApiServiceFact& fact : facts.custom) {
    if (missing(fact)) continue;
    if (!fact.found) {
      out.push_back({Level::kWarning, CheckOf(fact), fact.found.error().message,
                     "doctor needs get on apiservices"});
      continue;
    }
    const ApiService& service = *fact.found;
    if (service.owner != facts.service) {
      out.push_back({Level::kFailure, CheckOf(fact),
                     fmt::format("it belongs to {} and not to {}: a cluster has one owner of this "
                                 "API, and HPAs ask that one",
                                 service.owner, facts.service),
                     "delete the other adapter's APIService, or point it at ours: "
                     "docs/migrating-from-go.md; another Service of ours: --service"});
      continue;
    }
    if (service.insecure) {
      out.push_back({Level::kWarning, CheckOf(fact),
                     "insecureSkipTLSVerify: the aggregator talks to whoever answers",
                     "run with --manage-apiservice-ca, or set caBundle"});
    }
  }
}

Finding JudgeAvailable(std::string check, const ApiService& service) {
  if (service.available) {
    return {Level::kOk, std::move(check), fmt::format("available, of {}", service.owner), {}};
  }
  if (const Symptom* symptom = FindSymptom(service.message)) {
    const bool no_ca = !service.has_ca && symptom->words.find("authority") != std::string::npos;
    return {Level::kFailure, std::move(check),
            fmt::format("{} ({}: {})",
                        no_ca ? std::string_view("wrong CA: there is no caBundle at all")
                              : symptom->meaning,
                        service.reason, service.message),
            std::string(symptom->advice)};
  }
  return {Level::kFailure, std::move(check),
          fmt::format("is not available: {}: {}", service.reason, service.message),
          service.reason == "MissingEndpoints" || service.reason == "EndpointsNotFound"
              ? "no replica is ready: see the replicas above"
              : "kubectl describe apiservice; docs/troubleshooting.md"};
}

/// Whether the aggregator refuses it for TLS, which no state of the replicas explains.
bool FailsByTls(const ApiService& service) {
  return !service.available && service.message.find("x509") != std::string::npos;
}

void JudgeAvailability(const InstallFacts& facts, bool by_tls, Findings& out) {
  for (const ApiServiceFact& fact : facts.custom) {
    if (!fact.found || fact.found->owner != facts.service) continue;
    if (FailsByTls(*fact.found) == by_tls)
      out.push_back(JudgeAvailable(CheckOf(fact), *fact.found));
  }
}

void JudgeExternal(const InstallFacts& facts, Findings& out) {
  const std::string check = "APIService v1beta1.external.metrics.k8s.io";
  if (!facts.external) {
    const bool none = facts.external.error().code == base::Code::kNotFound;
    out.push_back({none ? Level::kOk : Level::kWarning, check,
                   none ? "nobody serves external metrics" : facts.external.error().message,
                   none ? "" : "doctor needs get on apiservices"});
  } else if (facts.external->owner == facts.service) {
    out.push_back(JudgeAvailable(check, *facts.external));
  } else if (facts.settings.external_metrics) {
    out.push_back({Level::kFailure, check,
                   fmt::format("it belongs to {}, and the replicas run with --external-metrics: a "
                               "cluster has one owner of this API, and HPAs ask that one",
                               facts.external->owner),
                   "leave --external-metrics out (KEDA asks activescale by other ways), or remove "
                   "the other owner"});
  } else {
    // One owner a cluster: taking it from KEDA would stop all that KEDA scales.
    out.push_back(
        {Level::kOk,
         check,
         fmt::format("belongs to {}; External metrics of HPAs are its own", facts.external->owner),
         {}});
  }
}

void JudgeRights(const InstallFacts& facts, Findings& out) {
  const std::string check =
      fmt::format("RBAC of service account {}", facts.settings.service_account);
  bool all = true;
  for (const Right& right : facts.rights) {
    if (!right.allowed) {
      out.push_back({Level::kWarning, check, right.allowed.error().message,
                     "doctor needs create on subjectaccessreviews"});
      return;
    }
    if (*right.allowed) continue;
    all = false;
    out.push_back(
        {right.essential ? Level::kFailure : Level::kWarning, check,
         fmt::format("it may not {}: {}", right.action, right.consequence),
         "apply the roles and bindings of the manifests: deploy/kustomize/base/rbac.yaml"});
  }
  if (all && !facts.rights.empty()) out.push_back({Level::kOk, check, "it has what it needs", {}});
}

void JudgePush(const InstallFacts& facts, Findings& out) {
  const std::string check = fmt::format("Service {}-grpc", facts.service);
  if (!facts.push) {
    out.push_back({Level::kWarning, check, facts.push.error().message,
                   "Envoys push to it by the manifests; they need another address otherwise"});
  } else if (!facts.push->selects_replicas) {
    out.push_back({Level::kFailure, check,
                   "its selector matches no replica, so nothing that Envoys push arrives",
                   "give it the labels of the replicas' pods"});
  } else if (!facts.push->headless) {
    out.push_back({Level::kWarning, check,
                   "it is not headless: Envoy sees one address, and all streams of a pod stay with "
                   "one replica",
                   "set clusterIP: None"});
  } else {
    out.push_back({Level::kOk, check, "leads Envoys to the replicas", {}});
  }
}

void JudgeReplicas(const InstallFacts& facts, Findings& out) {
  const std::string check = fmt::format("replicas of {}", facts.service);
  if (!facts.replicas) {
    if (facts.replicas.error().code == base::Code::kUnimplemented) return;
    const bool absent = facts.replicas.error().code == base::Code::kNotFound;
    out.push_back({absent ? Level::kFailure : Level::kWarning, check,
                   facts.replicas.error().message,
                   absent ? "install it (docs/install.md), or name the one that is installed: "
                            "--service NAMESPACE/NAME"
                          : "doctor needs get on services and list on pods there"});
    return;
  }
  const auto ready = std::ranges::count(*facts.replicas, true, &Replica::ready);
  if (facts.replicas->empty()) {
    out.push_back({Level::kFailure, check, "the Service's selector matches no pod",
                   "start the Deployment, or correct the selector"});
  }
  for (const Replica& replica : *facts.replicas) {
    if (replica.ready) continue;
    out.push_back({ready == 0 ? Level::kFailure : Level::kWarning, check,
                   fmt::format("pod {} is not ready: {}", replica.pod, replica.state),
                   "kubectl describe pod and its log tell more"});
  }
  if (ready > 1 && !facts.settings.shared_store) {
    out.push_back({Level::kFailure, check,
                   fmt::format("{} ready replicas without a shared store: each knows only the pods "
                               "whose streams it holds, and answers differ",
                               ready),
                   "run one replica, or give all of them a Redis (REDIS_ADDR)"});
  } else if (ready > 0) {
    out.push_back({Level::kOk,
                   check,
                   fmt::format("{} ready{}", ready,
                               facts.settings.shared_store ? ", with a shared store" : ""),
                   {}});
  }
}

}  // namespace

Findings DiagnoseInstall(const InstallFacts& facts) {
  Findings out;
  JudgeOwners(facts, out);
  JudgeAvailability(facts, true, out);
  JudgeRights(facts, out);
  // What a replica says of itself explains why it is not ready.
  Findings healths;
  for (const ReplicaHealth& health : facts.health) {
    std::ranges::move(DiagnoseHealth(health), std::back_inserter(healths));
  }
  std::ranges::move(healths, std::back_inserter(out));
  JudgeReplicas(facts, out);
  JudgePush(facts, out);
  JudgeAvailability(facts, false, out);
  JudgeExternal(facts, out);
  return out;
}

}  // namespace activescale::insight
