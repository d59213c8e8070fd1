#include "app/last_replica.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <utility>

namespace activescale::app {
namespace {

using base::SteadyTime;
using std::chrono::seconds;
using ::testing::ElementsAre;

using Names = std::vector<std::string>;

TEST(StaysInServiceTest, WhoLeavesAndWhoStays) {
  const struct {
    std::string_view name;
    std::string_view self;
    Names ready;
    bool waits;
    bool want;
  } cases[] = {
      {"nobody is ready", "b", {}, false, true},
      {"only itself is", "b", {"b"}, false, true},
      {"a higher one is, which may leave yet", "a", {"a", "b"}, true, true},
      {"a higher one is and did not leave", "a", {"a", "b"}, false, false},
      {"a lower one is", "b", {"a", "b"}, true, false},
      {"a lower one is, itself left", "b", {"a"}, true, false},
      {"a higher one is, itself left", "a", {"b"}, false, false},
      {"the middle one never waits", "b", {"a", "b", "c"}, true, false},
      {"it does not know its name", "", {"a", "b"}, false, true},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(StaysInService(c.self, c.ready, c.waits), c.want) << c.name;
  }
}

/// Replicas a, b, c... behind a Service: a probe every 2 s of which two must fail, and
/// EndpointSlices that are a second late.
class Service {
 public:
  explicit Service(size_t size) {
    for (size_t i = 0; i < size; ++i) {
      std::string name(1, static_cast<char>('a' + i));
      pods_.push_back({name, std::make_unique<LastReplica>(name)});
    }
  }

  void SetStore(std::string_view pods, bool there) {
    for (Pod& pod : pods_) {
      if (pods.find(pod.name) != std::string_view::npos) pod.has_store = there;
    }
  }
  void SetRunning(std::string_view pods, bool running) {
    for (Pod& pod : pods_) {
      if (pods.find(pod.name) == std::string_view::npos) continue;
      if (!running) pod.replica = std::make_unique<LastReplica>(pod.name);
      pod.running = running;
    }
  }

  void Run(seconds time) {
    for (const SteadyTime end = now_ + time; now_ < end; now_ += seconds(1)) Step();
  }

  /// Names of the pods that the Service shows as ready.
  [[nodiscard]] const Names& Shown() const { return shown_.front(); }
  /// Seconds for which it was empty, and changes of who is ready, since the last call.
  int TakeEmptySeconds() { return std::exchange(empty_seconds_, 0); }
  int TakeChanges() { return std::exchange(changes_, 0); }

 private:
  struct Pod {
    std::string name;
    std::unique_ptr<LastReplica> replica;
    bool has_store = true;
    bool running = true;
    int failures = 0;
    bool ready = false;
  };

  void Probe(Pod& pod) {
    if (pod.running && pod.has_store) pod.replica->OnStoreReady();
    const bool ok = pod.running && (pod.has_store || pod.replica->Stays(Shown(), now_));
    pod.failures = ok ? 0 : pod.failures + 1;
    if (ok) pod.ready = true;
    if (pod.failures >= 2) pod.ready = false;
  }

  void Step() {
    const auto turn = static_cast<size_t>(now_.time_since_epoch() / seconds(1));
    for (size_t i = 0; i < pods_.size(); ++i) {
      if ((turn + i) % 2 == 0) Probe(pods_[i]);  // kubelets are not in step
    }
    Names ready;
    for (const Pod& pod : pods_) {
      if (pod.ready) ready.push_back(pod.name);
    }
    shown_.push_back(ready);
    if (shown_[0] != shown_[1]) ++changes_;
    shown_.pop_front();
    if (Shown().empty()) ++empty_seconds_;
  }

  SteadyTime now_{seconds(1000)};
  std::vector<Pod> pods_;
  std::deque<Names> shown_ = {{}};
  int empty_seconds_ = 0;
  int changes_ = 0;
};

class LastReplicaTest : public ::testing::Test {
 protected:
  void StartThree() {
    service_.Run(seconds(10));
    ASSERT_THAT(service_.Shown(), ElementsAre("a", "b", "c"));
    service_.TakeEmptySeconds();
    service_.TakeChanges();
  }
  /// A minute later: who is shown, that this stays so, and how long nobody was.
  Names Settle(int most_empty_seconds = 0) {
    service_.Run(seconds(60));
    EXPECT_LE(service_.TakeEmptySeconds(), most_empty_seconds);
    service_.TakeChanges();
    service_.Run(seconds(120));
    EXPECT_EQ(service_.TakeChanges(), 0) << "it flaps";
    EXPECT_EQ(service_.TakeEmptySeconds(), 0);
    return service_.Shown();
  }

  Service service_{3};
};

TEST_F(LastReplicaTest, WhoeverLosesTheStoreAloneLeaves) {
  for (const std::string_view lost : {"a", "b", "c", "ab", "ac", "bc"}) {
    service_ = Service(3);
    StartThree();
    service_.SetStore(lost, false);
    Names rest = {"a", "b", "c"};
    std::erase_if(rest,
                  [&](const auto& name) { return lost.find(name) != std::string_view::npos; });
    EXPECT_EQ(Settle(), rest) << lost;
    service_.SetStore(lost, true);
    EXPECT_THAT(Settle(), ElementsAre("a", "b", "c")) << lost;
  }
}

TEST_F(LastReplicaTest, WhenAllLoseItTheLowestStaysAndTheServiceIsNeverEmpty) {
  StartThree();
  service_.SetStore("abc", false);
  EXPECT_THAT(Settle(), ElementsAre("a"));
  service_.SetStore("c", true);
  EXPECT_THAT(Settle(), ElementsAre("c")) << "one that has the store takes over";
  service_.SetStore("c", false);
  EXPECT_THAT(Settle(), ElementsAre("c")) << "no reason to change who stays";
  service_.SetStore("abc", true);
  EXPECT_THAT(Settle(), ElementsAre("a", "b", "c"));
}

TEST_F(LastReplicaTest, LosingItOneAfterTheOtherEmptiesTheServiceForSecondsAtMost) {
  // While a waits for the others it sees them ready; that they lose the store just before a's
  // patience ends is the one case in which all leave.
  for (int pause = 0; pause < 30; ++pause) {
    service_ = Service(3);
    StartThree();
    service_.SetStore("a", false);
    service_.Run(seconds(pause));
    service_.SetStore("bc", false);
    EXPECT_EQ(Settle(5).size(), 1) << pause;
  }
}

TEST_F(LastReplicaTest, WhenTheLastOneDiesAnotherComesIn) {
  StartThree();
  service_.SetStore("abc", false);
  ASSERT_THAT(Settle(), ElementsAre("a"));
  service_.SetRunning("a", false);
  EXPECT_THAT(Settle(5), ElementsAre("b"));
  service_.SetRunning("a", true);
  EXPECT_THAT(Settle(), ElementsAre("b")) << "a fresh one without the store is not better";
}

TEST_F(LastReplicaTest, StartedWithoutTheStoreOneOfAllComesIn) {
  service_.SetStore("abc", false);
  EXPECT_EQ(Settle(5).size(), 1);
  service_.SetStore("abc", true);
  EXPECT_THAT(Settle(), ElementsAre("a", "b", "c"));
}

TEST_F(LastReplicaTest, ANewReplicaThatNeverHadTheStoreIsNeverReadyBesideOthers) {
  service_.SetRunning("a", false);
  service_.Run(seconds(10));
  ASSERT_THAT(service_.Shown(), ElementsAre("b", "c"));
  service_.SetStore("a", false);
  service_.SetRunning("a", true);
  service_.TakeChanges();
  service_.Run(seconds(60));
  EXPECT_EQ(service_.TakeChanges(), 0);
}

TEST(LastReplicaUnknownServiceTest, ItIsAsItWas) {
  LastReplica fresh("a");
  EXPECT_FALSE(fresh.Stays(std::nullopt, SteadyTime()));
  fresh.OnStoreReady();
  EXPECT_TRUE(fresh.Stays(std::nullopt, SteadyTime()));
}

}  // namespace
}  // namespace activescale::app
