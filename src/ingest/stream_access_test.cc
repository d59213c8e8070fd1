// Whose streams are taken: of one cluster or several, from the pod's own address or another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/testing/session_fixture.h"

namespace activescale::ingest {
namespace {

using testing::HasSubstr;

using StreamAccessTest = SessionFixture;

TEST_F(StreamAccessTest, SecondClusterIsCountedAndServed) {
  const auto first = Open();
  const auto second = Open();
  const auto same = Open();
  ASSERT_TRUE(Send(*first, EnvoyMessage("shop", "a").Metadata("CLUSTER_ID", "east")));
  ASSERT_TRUE(Send(*second, EnvoyMessage("shop", "b").Metadata("CLUSTER_ID", "west")));
  ASSERT_TRUE(Send(*same, EnvoyMessage("shop", "c").Metadata("CLUSTER_ID", "east")));
  EXPECT_EQ(metrics_.other_clusters.Value(), 1);
  EXPECT_EQ(Say("shop", "b"), "zero zero zero");
}

class OneClusterTest : public SessionFixture {
 protected:
  OneClusterTest() : SessionFixture({.rules = {}, .cluster_id = "east"}) {}
};

TEST_F(OneClusterTest, OtherClustersAreRefused) {
  const auto wrong = Open();
  ASSERT_TRUE(Send(*wrong, EnvoyMessage("shop", "a").Metadata("CLUSTER_ID", "west")));
  ASSERT_TRUE(Send(*wrong, EnvoyMessage().Gauge(kInbound, 1)));
  EXPECT_EQ(Say("shop", "a"), "missing missing missing");
  EXPECT_EQ(metrics_.id_wrong_cluster.Value(), 2);
  EXPECT_THAT(wrong->End(true).error().message, HasSubstr("west"));
  const auto right = Open();
  const auto silent = Open();
  ASSERT_TRUE(Send(*right, EnvoyMessage("shop", "b").Metadata("CLUSTER_ID", "east")));
  ASSERT_TRUE(Send(*silent, EnvoyMessage("shop", "c")));
  EXPECT_EQ(Say("shop", "b"), "zero zero zero");
  EXPECT_EQ(Say("shop", "c"), "zero zero zero");
}

/// The verdict on a sender is in the name of the pod that it claims to be.
kube::PeerVerdict VerdictByName(metric::PodKeyView pod, std::string_view peer) {
  EXPECT_EQ(peer, "10.0.0.9:4711");
  if (pod.name == "other") return kube::PeerVerdict::kMismatch;
  return pod.name == "new" ? kube::PeerVerdict::kUnknownPod : kube::PeerVerdict::kMatch;
}

class PeerCountTest : public SessionFixture {
 protected:
  PeerCountTest() : SessionFixture({.rules = {}, .peer_check = VerdictByName}) {}
};

TEST_F(PeerCountTest, SendersOfAnotherAddressAreCountedAndStored) {
  const auto stream = Open();
  ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "other")));
  EXPECT_EQ(Say("shop", "other"), "zero zero zero");
  EXPECT_EQ(metrics_.peer_checks[static_cast<size_t>(kube::PeerVerdict::kMismatch)]->Value(), 1);
  EXPECT_EQ(metrics_.id_wrong_peer.Value(), 0);
}

class PeerEnforceTest : public SessionFixture {
 protected:
  PeerEnforceTest()
      : SessionFixture({.rules = {}, .peer_check = VerdictByName, .refuse_wrong_peers = true}) {}
};

TEST_F(PeerEnforceTest, OnlySendersProvenWrongAreRefused) {
  const auto wrong = Open();
  ASSERT_TRUE(Send(*wrong, EnvoyMessage("shop", "other").Gauge(kInbound, 1)));
  ASSERT_TRUE(Send(*wrong, EnvoyMessage().Gauge(kInbound, 1)));
  EXPECT_EQ(Say("shop", "other"), "missing missing missing");
  EXPECT_EQ(metrics_.id_wrong_peer.Value(), 2);
  EXPECT_THAT(wrong->End(true).error().message, HasSubstr("shop/other"));
  for (const char* pod : {"new", "web"}) {
    const auto stream = Open();
    ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", pod)));
    EXPECT_EQ(Say("shop", pod), "zero zero zero") << pod;
  }
}

}  // namespace
}  // namespace activescale::ingest
