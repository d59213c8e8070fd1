#include "scaleahead/object_watch.h"

#include <gtest/gtest.h>

#include <string>

#include <boost/json/parse.hpp>

namespace activescale::scaleahead {
namespace {

Target Read(const std::string& managed_fields) {
  const auto object = boost::json::parse(R"({"metadata": {"namespace": "shop", "name": "web",
      "resourceVersion": "7", "managedFields": )" +
                                         managed_fields + R"(},
      "spec": {"replicas": 8, "paused": true, "selector": {"matchLabels": {"app": "web"}}},
      "status": {"replicas": 5}})");
  return ReadTarget(object.as_object(), "Deployment", "deployments");
}

TEST(ObjectWatchTest, ATargetIsReadWithWhatAStepNeeds) {
  const Target target = Read("[]");
  EXPECT_EQ(target.ns, "shop");
  EXPECT_EQ(target.name, "web");
  EXPECT_EQ(target.resource_version, "7");
  EXPECT_EQ(target.selector, "app=web");
  EXPECT_EQ(target.spec_replicas, 8);
  EXPECT_EQ(target.status_replicas, 5);
  EXPECT_TRUE(target.paused);
}

TEST(ObjectWatchTest, WhoOwnsTheCountTookTheLastStep) {
  struct Case {
    const char* name;
    const char* managed_fields;
    bool stepped;
  };
  const Case cases[] = {
      {"nobody", "[]", false},
      {"we", R"([{"manager": "kubectl", "fieldsV1": {"f:spec": {"f:template": {}}}},
                 {"manager": "activescale-scale-ahead", "subresource": "scale",
                  "fieldsV1": {"f:spec": {"f:replicas": {}}}}])",
       true},
      {"the controller after us",
       R"([{"manager": "activescale-scale-ahead", "fieldsV1": {"f:spec": {}}},
           {"manager": "kube-controller-manager", "fieldsV1": {"f:spec": {"f:replicas": {}}}}])",
       false},
      {"a list of something else", R"([1, null, "activescale-scale-ahead"])", false},
      {"no list", R"("activescale-scale-ahead")", false},
      {"an owner of nothing", R"([{"manager": "activescale-scale-ahead", "fieldsV1": 1}])", false},
  };
  for (const Case& c : cases) EXPECT_EQ(Read(c.managed_fields).stepped, c.stepped) << c.name;
}

}  // namespace
}  // namespace activescale::scaleahead
