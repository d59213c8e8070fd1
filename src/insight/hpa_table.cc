#include "insight/hpa_table.h"

#include <boost/json/value.hpp>

#include "kube/json.h"
#include "kube/pod.h"

namespace activescale::insight {
namespace {

using kube::FindString;

HpaSight ReadSight(const boost::json::object& object) {
  HpaSight sight;
  if (auto read = kube::ReadHpa(object)) {
    sight.object = *std::move(read);
  } else {
    sight.fault = read.error().message;
    sight.object.ns = FindString(object, {"metadata", "namespace"});
    sight.object.name = FindString(object, {"metadata", "name"});
    sight.object.target.kind = FindString(object, {"spec", "scaleTargetRef", "kind"});
    sight.object.target.name = FindString(object, {"spec", "scaleTargetRef", "name"});
  }
  const auto* current = kube::FindValue(object, {"status", "currentReplicas"});
  if (current != nullptr && current->is_int64()) {
    sight.current_replicas = static_cast<int32_t>(current->get_int64());
  }
  sight.last_scale = kube::ParseTime(FindString(object, {"status", "lastScaleTime"}));
  return sight;
}

}  // namespace

void HpaTable::Upsert(const boost::json::object& object) {
  auto sight = std::make_shared<const HpaSight>(ReadSight(object));
  const base::MutexLock lock(mutex_);
  hpas_[{sight->object.ns, sight->object.name}] = std::move(sight);
}

void HpaTable::Remove(std::string_view ns, std::string_view name) {
  const base::MutexLock lock(mutex_);
  hpas_.erase({std::string(ns), std::string(name)});
}

HpaTable::Hpas HpaTable::List() const {
  const base::MutexLock lock(mutex_);
  Hpas hpas;
  hpas.reserve(hpas_.size());
  for (const auto& [name, hpa] : hpas_) hpas.push_back(hpa);
  return hpas;
}

}  // namespace activescale::insight
