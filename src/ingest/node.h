#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "ingest/wire_cursor.h"

namespace activescale::ingest {

/// What is used of an Envoy's node: its id and some keys of its metadata, as Istio's proxies set
/// them. A key that is absent or not a string is nothing.
/// Source: istio/istio:pkg/model/proxy.go, NodeMetadata.
struct Node {
  std::string id;
  std::optional<std::string> name;            // NAME, of the pod
  std::optional<std::string> ns;              // NAMESPACE
  std::optional<std::string> workload_name;   // WORKLOAD_NAME
  std::optional<std::string> cluster_id;      // CLUSTER_ID
  std::optional<std::string> instance_ips;    // INSTANCE_IPS, separated by commas
  std::map<std::string, std::string> labels;  // LABELS, of the pod; only those that are strings
};

/// Merges the node out of a message's identifiers, which must be valid (the scanner's are), as
/// protobuf merges them. Nothing if there is no node at all.
[[nodiscard]] std::optional<Node> DecodeNode(std::span<const WireCursor> identifiers);

}  // namespace activescale::ingest
