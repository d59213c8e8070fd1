#include "metricsapi/tenant.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "metricsapi/authorizer.h"

namespace activescale::metricsapi {
namespace {

constexpr std::string_view kServiceAccount = "system:serviceaccount:";

/// Empty if it is no service account's name.
std::string_view NamespaceOf(std::string_view user) {
  if (!user.starts_with(kServiceAccount)) return "";
  user.remove_prefix(kServiceAccount.size());
  const size_t colon = user.find(':');
  if (colon == std::string_view::npos) return "";
  const std::string_view name = user.substr(colon + 1);
  if (name.empty() || name.find(':') != std::string_view::npos) return "";
  return user.substr(0, colon);
}

}  // namespace

base::Result<std::string> TenantNamespace(const kube::UserInfo& caller) {
  if (std::ranges::find(caller.groups, kMastersGroup) != caller.groups.end()) return "";
  const std::string_view ns = NamespaceOf(caller.name);
  if (!ns.empty()) return std::string(ns);
  return base::Fail(
      base::Code::kPermissionDenied,
      fmt::format("User \"{}\" has no namespace to see the series of: because of "
                  "--tenant-queries ask with the token of a service account, which sees its own "
                  "namespace, or as a member of {}",
                  caller.name, kMastersGroup));
}

}  // namespace activescale::metricsapi
