#include "metricsapi/tenant.h"

#include <gtest/gtest.h>

namespace activescale::metricsapi {
namespace {

TEST(TenantTest, OnlyAServiceAccountHasANamespaceAndOnlyMastersSeeAll) {
  const struct {
    std::string user;
    std::vector<std::string> groups;
    std::optional<std::string> want;  // nothing: refused
  } cases[] = {
      {"system:serviceaccount:shop:keda", {"system:serviceaccounts"}, "shop"},
      {"root", {"system:authenticated", "system:masters"}, ""},
      {"system:serviceaccount:shop:root", {"system:masters"}, ""},
      {"jane", {"system:authenticated"}, std::nullopt},
      {"jane", {"system:serviceaccounts:shop"}, std::nullopt},
      {"system:anonymous", {"system:unauthenticated"}, std::nullopt},
      {"system:serviceaccount:shop", {}, std::nullopt},
      {"system:serviceaccount:shop:", {}, std::nullopt},
      {"system:serviceaccount::keda", {}, std::nullopt},
      {"system:serviceaccount:shop:keda:x", {}, std::nullopt},
      {"oidc:system:serviceaccount:shop:keda", {}, std::nullopt},
      {"", {}, std::nullopt},
  };
  for (const auto& c : cases) {
    const auto got = TenantNamespace({.name = c.user, .groups = c.groups});
    EXPECT_EQ(got ? std::optional(*got) : std::nullopt, c.want) << c.user;
    if (got) continue;
    EXPECT_EQ(got.error().code, base::Code::kPermissionDenied) << c.user;
    EXPECT_NE(got.error().message.find("\"" + c.user + "\" has no namespace"), std::string::npos);
  }
}

}  // namespace
}  // namespace activescale::metricsapi
