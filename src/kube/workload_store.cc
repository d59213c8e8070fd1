#include "kube/workload_store.h"

#include <algorithm>
#include <utility>

#include "kube/json.h"
#include "kube/pod_store.h"

namespace activescale::kube {

void OwnerStore::Unlink(Namespace& ns, const std::string& name, const OwnerRef& owner) {
  const auto [begin, end] = ns.owned.equal_range(owner);
  const auto it = std::find_if(begin, end, [&](const auto& entry) { return entry.second == name; });
  if (it != end) ns.owned.erase(it);
}

void OwnerStore::Upsert(std::string_view ns_name, std::string_view name, OwnerRef owner) {
  if (owner.kind.empty()) {
    Remove(ns_name, name);
    return;
  }
  Namespace& ns = namespaces_[std::string(ns_name)];
  const auto [it, is_new] = ns.owners.try_emplace(std::string(name));
  if (!is_new && it->second == owner) return;
  if (!is_new) Unlink(ns, it->first, it->second);
  ns.owned.emplace(owner, it->first);
  it->second = std::move(owner);
}

void OwnerStore::Remove(std::string_view ns_name, std::string_view name) {
  const auto ns = namespaces_.find(ns_name);
  if (ns == namespaces_.end()) return;
  const auto it = ns->second.owners.find(name);
  if (it == ns->second.owners.end()) return;
  Unlink(ns->second, it->first, it->second);
  ns->second.owners.erase(it);
  if (ns->second.owners.empty()) namespaces_.erase(ns);
}

std::vector<std::string_view> OwnerStore::OwnedBy(std::string_view ns_name,
                                                  std::string_view resource,
                                                  std::string_view name) const {
  std::vector<std::string_view> names;
  const auto ns = namespaces_.find(ns_name);
  if (ns == namespaces_.end()) return names;
  for (auto it = ns->second.owned.lower_bound(OwnerRef{std::string(name), {}, {}});
       it != ns->second.owned.end() && it->first.name == name; ++it) {
    if (ResourceOf(it->first.group, it->first.kind) == resource) names.push_back(it->second);
  }
  return names;
}

void ServiceStore::Upsert(const boost::json::object& object) {
  std::string text;
  if (const auto* selector = FindObject(object, {"spec", "selector"})) {
    for (const auto& [key, value] : *selector) {
      if (!value.is_string()) continue;
      if (!text.empty()) text += ',';
      text.append(std::string_view(key)).append("=").append(std::string_view(value.get_string()));
    }
  }
  // The API server has checked keys and values; what it let through and we do not read selects
  // nothing rather than everything.
  const auto parsed = metric::Selector::Parse(text);
  namespaces_[std::string(FindString(object, {"metadata", "namespace"}))]
             [std::string(FindString(object, {"metadata", "name"}))] =
                 parsed ? *parsed : metric::Selector();
}

void ServiceStore::Remove(std::string_view ns_name, std::string_view name) {
  const auto ns = namespaces_.find(ns_name);
  if (ns == namespaces_.end()) return;
  const auto it = ns->second.find(name);
  if (it == ns->second.end()) return;
  ns->second.erase(it);
  if (ns->second.empty()) namespaces_.erase(ns);
}

const metric::Selector* ServiceStore::Find(std::string_view ns_name, std::string_view name) const {
  const auto ns = namespaces_.find(ns_name);
  if (ns == namespaces_.end()) return nullptr;
  const auto it = ns->second.find(name);
  return it == ns->second.end() ? nullptr : &it->second;
}

}  // namespace activescale::kube
