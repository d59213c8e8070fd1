#include "metricsapi/authorizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace activescale::metricsapi {

namespace {

using kube::AccessAttributes;
using kube::AccessDecision;

constexpr size_t kMaxDecisions = 8192;
/// Longer questions are asked and not remembered, so that nobody fills the memory with them.
constexpr size_t kMaxKeyBytes = 10'000;

AccessAttributes AttributesOf(const kube::UserInfo& user, const RequestInfo& info) {
  AccessAttributes attributes;
  attributes.user = user;
  attributes.verb = info.verb;
  if (info.is_resource) {
    attributes.resource = AccessAttributes::Resource{info.ns,       info.group,       info.version,
                                                     info.resource, info.subresource, info.name};
  } else {
    attributes.path = info.path;
  }
  return attributes;
}

/// A text that is equal only for equal attributes: each part is preceded by its length.
class KeyText {
 public:
  void Add(std::string_view part) {
    fmt::format_to(std::back_inserter(text_), "{}:{}", part.size(), part);
  }
  void AddAll(const std::vector<std::string>& parts) {
    fmt::format_to(std::back_inserter(text_), "{}[", parts.size());
    for (const std::string& part : parts) Add(part);
  }
  [[nodiscard]] std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string KeyOf(const AccessAttributes& attributes) {
  KeyText key;
  key.Add(attributes.user.name);
  key.Add(attributes.user.uid);
  key.AddAll(attributes.user.groups);
  for (const auto& [name, values] : attributes.user.extra) {
    key.Add(name);
    key.AddAll(values);
  }
  key.Add(attributes.verb);
  key.Add(attributes.path);
  if (const auto& resource = attributes.resource) {
    for (const std::string* part : {&resource->ns, &resource->group, &resource->version,
                                    &resource->resource, &resource->subresource, &resource->name}) {
      key.Add(*part);
    }
  }
  return key.Take();
}

/// As kube-apiserver says it. Source: kubernetes/apiserver:pkg/endpoints/handlers/responsewriters.
base::Error Forbidden(const AccessAttributes& attributes, std::string_view reason) {
  std::string message;
  if (const auto& resource = attributes.resource) {
    std::string target = resource->resource;
    if (!resource->subresource.empty()) target += "/" + resource->subresource;
    message = fmt::format(
        "{}{}{} \"{}\" is forbidden: User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {}",
        resource->resource, resource->group.empty() ? "" : ".", resource->group, resource->name,
        attributes.user.name, attributes.verb, target, resource->group,
        resource->ns.empty() ? "at the cluster scope"
                             : fmt::format("in the namespace \"{}\"", resource->ns));
  } else {
    message = fmt::format("forbidden: User \"{}\" cannot {} path \"{}\"", attributes.user.name,
                          attributes.verb, attributes.path);
  }
  if (!reason.empty()) message += fmt::format(": {}", reason);
  return {base::Code::kPermissionDenied, std::move(message)};
}

}  // namespace

Authorizer::Authorizer(kube::AccessReviewer& reviewer, const base::Clock& clock,
                       telemetry::Registry& registry, Options options)
    : reviewer_(reviewer),
      options_(std::move(options)),
      cache_(clock, options_.ttl, kMaxDecisions) {
  constexpr std::array<const char*, kOutcomes> kNames = {"always_allowed", "masters", "allowed",
                                                         "denied", "failed"};
  for (size_t i = 0; i < kOutcomes; ++i) {
    outcomes_[i] = &registry.AddCounter("activescale_authorizations_total",
                                        "Requests by what decided whether they may go on",
                                        {{"result", kNames[i]}});
  }
}

void Authorizer::Authorize(const kube::UserInfo& user, const RequestInfo& info, Callback done) {
  if (std::ranges::find(user.groups, kMastersGroup) != user.groups.end()) {
    outcomes_[kMasters]->Increment();
    return done({});
  }
  if (IsAlwaysAllowed(info)) {
    outcomes_[kAlwaysAllowed]->Increment();
    return done({});
  }
  AccessAttributes attributes = AttributesOf(user, info);
  AccessAttributes asked = attributes;
  Review(std::move(asked), [this, attributes = std::move(attributes),
                            done = std::move(done)](base::Result<AccessDecision> decision) mutable {
    if (!decision) {
      outcomes_[kFailed]->Increment();
      return done(std::unexpected(Forbidden(
          attributes, "the permission could not be reviewed: " + decision.error().message)));
    }
    outcomes_[decision->allowed ? kAllowed : kDenied]->Increment();
    if (decision->allowed) return done({});
    done(std::unexpected(Forbidden(attributes, decision->reason)));
  });
}

bool Authorizer::IsAlwaysAllowed(const RequestInfo& info) const {
  if (info.is_resource) return false;
  return std::ranges::any_of(options_.always_allow_paths, [&info](std::string_view allowed) {
    if (!allowed.ends_with('*')) return info.path == allowed;
    return info.path.starts_with(allowed.substr(0, allowed.size() - 1));
  });
}

void Authorizer::Review(AccessAttributes attributes, ReviewCache<AccessDecision>::Callback done) {
  std::string key = KeyOf(attributes);
  if (key.size() > kMaxKeyBytes) return reviewer_.Review(std::move(attributes), std::move(done));
  cache_.Get(
      std::move(key),
      [this, attributes = std::move(attributes)](auto answer) mutable {
        reviewer_.Review(std::move(attributes), std::move(answer));
      },
      std::move(done));
}

}  // namespace activescale::metricsapi
