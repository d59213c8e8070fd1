#pragma once

#include <cstddef>
#include <string>

#include "kube/testing/fake_api_server.h"

namespace activescale::kube {

/// The n-th pod of a made cluster: namespaces of 1,000 pods, Deployments of 100, the labels that
/// Helm and the ReplicaSet controller set. `filler_bytes` of spec and managedFields, which nobody
/// here keeps, make it as large as real ones (5 to 15 KB).
[[nodiscard]] std::string GeneratedPod(size_t n, size_t filler_bytes);

/// Answers a list of `pods` of them in the pages that are asked for.
[[nodiscard]] FakeApiServer::Answer ListGeneratedPods(size_t pods, size_t filler_bytes);

}  // namespace activescale::kube
