#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "metric/pod_key.h"

namespace activescale::kube {

/// How a peer's address and the pod that it claims to be go together.
enum class PeerVerdict : uint8_t {
  kMatch,
  kMismatch,    // the pod has other addresses
  kNoAddress,   // the pod has none yet, or the peer's is not an IP address
  kUnknownPod,  // there is no such pod (yet: the watch may be behind)
  kNotSynced,   // we cannot tell
};
inline constexpr int kPeerVerdictCount = 5;

/// Compares the address of a connection, as IpAddress::ParsePeer reads it, with the pod's.
/// Threads: any.
using PeerCheck = std::function<PeerVerdict(metric::PodKeyView pod, std::string_view peer)>;

}  // namespace activescale::kube
