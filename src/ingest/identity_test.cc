#include "ingest/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace activescale::ingest {
namespace {

using testing::HasSubstr;

Node Named(std::string ns, std::string name) {
  Node node;
  node.ns = std::move(ns);
  node.name = std::move(name);
  return node;
}

Node WithId(std::string id) {
  Node node;
  node.id = std::move(id);
  return node;
}

std::string Pod(Node node) {
  const base::Result<Identity> identity = IdentityOf(std::move(node));
  return identity ? identity->pod.ns + "/" + identity->pod.name : "refused";
}

// Case A7 and all types of node.
TEST(IdentityTest, PodComesFromTheIdByItsNamespace) {
  const struct {
    std::string id;
    std::string want;
  } cases[] = {
      {"sidecar~10.0.0.1~my-pod.my-ns~my-ns.svc.cluster.local", "my-ns/my-pod"},
      {"router~10.0.0.2~gw-0.istio-system~istio-system.svc.cluster.local", "istio-system/gw-0"},
      {"waypoint~10.0.0.3~wp-1.shop~shop.svc.example.org", "shop/wp-1"},
      {"sidecar~10.0.0.5~foo.bar-1234-5678.demo~demo.svc.cluster.local", "demo/foo.bar-1234-5678"},
      {"sidecar~10.0.0.5~demo.demo~demo.svc.cluster.local", "demo/demo"},
      {"sidecar~fd00::1~a.b~b", "b/a"},
      {"sidecar~10.0.0.5~foo.other~demo.svc.cluster.local", "refused"},
      {"sidecar~10.0.0.5~foodemo~demo.svc.cluster.local", "refused"},
      {"sidecar~10.0.0.5~.demo~demo.svc.cluster.local", "refused"},
      {"sidecar~10.0.0.5~foo.~.svc.cluster.local", "refused"},
      {"sidecar~10.0.0.5~foo.demo", "refused"},
      {"sidecar~10.0.0.5~foo.demo~demo.svc~more", "refused"},
      {"~10.0.0.5~foo.demo~demo.svc", "refused"},
      {"~~~", "refused"},
      {"", "refused"},
      {"envoy-1", "refused"},
  };
  for (const auto& c : cases) EXPECT_EQ(Pod(WithId(c.id)), c.want) << c.id;
}

// Case E2.
TEST(IdentityTest, MetadataCountsOnlyIfBothNamesAreThere) {
  const std::string id = "sidecar~10.0.0.1~from-id.id-ns~id-ns.svc.cluster.local";
  Node both = Named("shop", "web-0");
  both.id = id;
  EXPECT_EQ(Pod(both), "shop/web-0");

  Node only_name = WithId(id);
  only_name.name = "web-0";
  EXPECT_EQ(Pod(only_name), "id-ns/from-id");

  Node only_namespace = WithId(id);
  only_namespace.ns = "shop";
  EXPECT_EQ(Pod(only_namespace), "id-ns/from-id");

  Node empty_name = Named("shop", "");
  empty_name.id = id;
  EXPECT_EQ(Pod(empty_name), "id-ns/from-id");
}

TEST(IdentityTest, NamesMustBeLegalInKubernetes) {
  const std::string label63(63, 'a');
  const std::string name253 = std::string(253, 'a');
  const struct {
    std::string ns;
    std::string name;
    bool legal;
  } cases[] = {
      {"shop", "web-0", true},
      {"shop", "web.0", true},
      {label63, name253, true},
      {label63 + "a", "web", false},
      {"shop", name253 + "a", false},
      {"Shop", "web", false},
      {"sh.op", "web", false},
      {"shop", "Web", false},
      {"shop", "web_0", false},
      {"shop", "web/0", false},
      {"shop", "-web", false},
      {"shop", "web-", false},
      {"shop", "web.", false},
      {"shop", ".web", false},
      {"shop", "web..0", false},
      {"shop", "web-.0", false},
      {"shop", "web.-0", false},
      {"shop", "web 0", false},
      {"shop", std::string("web\0", 4), false},
      {"shop", "w\xC3\xA9", false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Pod(Named(c.ns, c.name)) != "refused", c.legal) << c.ns << "/" << c.name;
  }
}

TEST(IdentityTest, RefusalNamesWhatWasFoundAndWhatToDo) {
  const auto no_pod = IdentityOf(WithId("envoy-1"));
  ASSERT_FALSE(no_pod);
  EXPECT_EQ(no_pod.error().code, base::Code::kInvalidArgument);
  EXPECT_THAT(no_pod.error().message, HasSubstr("envoy-1"));
  EXPECT_THAT(no_pod.error().message, HasSubstr("set the metadata"));
  EXPECT_THAT(IdentityOf(Named("shop", "Web")).error().message, HasSubstr("\"Web\""));
}

TEST(IdentityTest, RefusalDoesNotRepeatEndlessInput) {
  EXPECT_LT(IdentityOf(WithId(std::string(1'000'000, '~'))).error().message.size(), 1'000u);
}

TEST(IdentityTest, KeepsWorkloadClusterAndAddress) {
  Node node = Named("shop", "web-0");
  node.id = "sidecar~10.0.0.1~web-0.shop~shop.svc.cluster.local";
  node.workload_name = "web";
  node.cluster_id = "Kubernetes";
  EXPECT_EQ(IdentityOf(node)->pod_ip, "10.0.0.1");
  node.instance_ips = "10.0.0.7,fd00::7";
  const Identity identity = *IdentityOf(node);
  EXPECT_EQ(identity.workload_name, "web");
  EXPECT_EQ(identity.cluster_id, "Kubernetes");
  EXPECT_EQ(identity.pod_ip, "10.0.0.7");
}

TEST(IdentityTest, LabelsThatKubernetesWouldRefuseAreIgnoredAndCounted) {
  Node node = Named("shop", "web-0");
  node.labels = {{"app", "web"},
                 {"app.kubernetes.io/name", "web"},
                 {"empty", ""},
                 {"", "x"},
                 {"bad key", "x"},
                 {"/x", "x"},
                 {"UPPER.io/x", "x"},
                 {"v", "a b"},
                 {"long", std::string(64, 'a')},
                 {"end", "a-"},
                 {"x/y/z", "a"}};
  const Identity identity = *IdentityOf(node);
  EXPECT_EQ(identity.labels.entries().size(), 3u);
  EXPECT_EQ(identity.labels.Get("app.kubernetes.io/name"), "web");
  EXPECT_EQ(identity.labels.Get("empty"), "");
  EXPECT_EQ(identity.ignored_labels, 8u);
}

TEST(IdentityTest, MemoryOfLabelsIsBounded) {
  Node node = Named("shop", "web-0");
  for (int i = 0; i < 10'000; ++i) node.labels["l" + std::to_string(i)] = "v";
  const Identity identity = *IdentityOf(node);
  EXPECT_EQ(identity.labels.entries().size(), kMaxLabels);
  EXPECT_EQ(identity.ignored_labels, 10'000 - kMaxLabels);
}

}  // namespace
}  // namespace activescale::ingest
