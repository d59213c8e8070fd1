#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "base/clock.h"
#include "hpa/types.h"
#include "kube/ip_address.h"
#include "kube/object_stream.h"
#include "metric/labels.h"

namespace activescale::kube {

/// The object that controls another one. `kind` is empty if there is none.
struct OwnerRef {
  std::string name;  // first: owners are looked up by it
  std::string group;
  std::string kind;

  friend auto operator<=>(const OwnerRef&, const OwnerRef&) = default;
};

using hpa::PodPhase;

/// What we keep of a pod. Source: kubernetes/api:core/v1/types.go.
struct Pod {
  std::string ns;
  std::string name;
  metric::Labels labels;
  OwnerRef owner;
  std::vector<IpAddress> ips;
  PodPhase phase = PodPhase::kUnknown;
  bool ready = false;
  bool terminating = false;                   // it has a deletionTimestamp
  std::optional<base::WallTime> ready_since;  // last change of the Ready condition, if it is true
  base::WallTime created;

  [[nodiscard]] bool finished() const {
    return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed;
  }
};

/// The members of a pod that ParsePod reads.
[[nodiscard]] FieldMask PodMask();
/// What is missing or of another type is as if absent.
[[nodiscard]] Pod ParsePod(const boost::json::object& object);

/// The labels of any object; needs metadata.labels.
[[nodiscard]] metric::Labels ParseLabels(const boost::json::object& object);
/// The controlling owner of any object; needs metadata.ownerReferences.
[[nodiscard]] OwnerRef ParseOwner(const boost::json::object& object);

/// "2006-01-02T15:04:05Z", also with a fraction; nothing if it is not that.
[[nodiscard]] std::optional<base::WallTime> ParseTime(std::string_view text);

}  // namespace activescale::kube
