#include "scaleahead/memory.h"

#include <gtest/gtest.h>

#include <chrono>

#include "scaleahead/testing/objects.h"

namespace activescale::scaleahead {
namespace {

using base::SteadyTime;
using std::chrono::milliseconds;
using std::chrono::seconds;

SteadyTime At(int second) { return SteadyTime(seconds(1'000'000 + second)); }

const hpa::HpaSpec& Spec() {
  static const hpa::HpaSpec spec = WebHpa().spec;
  return spec;
}

TEST(MemoryTest, AStepThatLastsAMinuteIsNotUndoneLater) {
  Memory memory(At(0));
  memory.OnStep(8, At(10));
  memory.OnChange(Spec(), 8, 4, At(71));
  EXPECT_EQ(memory.undone(), 0U);
}

TEST(MemoryTest, AChangeThatStaysAboveTheStepUndoesNothing) {
  Memory memory(At(0));
  memory.OnStep(8, At(10));
  memory.OnChange(Spec(), 8, 16, At(12));
  memory.OnChange(Spec(), 16, 8, At(20));
  EXPECT_EQ(memory.undone(), 0U);
}

TEST(MemoryTest, AStepThatLastsForgivesTheOneBefore) {
  Memory memory(At(0));
  memory.OnStep(8, At(10));
  memory.OnChange(Spec(), 8, 2, At(20));
  memory.OnStep(8, At(100));  // lasts
  memory.OnStep(12, At(200));
  memory.OnChange(Spec(), 12, 2, At(210));
  EXPECT_EQ(memory.undone(), 2U);
  EXPECT_LE(memory.broken_until(), At(210));
}

TEST(MemoryTest, ConflictsWaitLongerEachTime) {
  Memory memory(At(0));
  for (const int wait_ms : {100, 200, 400, 800, 1'600, 3'200, 3'200}) {
    memory.OnConflict(At(10));
    EXPECT_EQ(memory.back_off_until(), At(10) + milliseconds(wait_ms));
  }
  memory.OnStep(4, At(20));
  memory.OnConflict(At(30));
  EXPECT_EQ(memory.back_off_until(), At(30) + milliseconds(100));
}

TEST(MemoryTest, AWindowForgetsWhatIsOlder) {
  Memory memory(At(0));
  EXPECT_EQ(memory.Stabilize(5, seconds(10), At(0)), 5);
  EXPECT_EQ(memory.Stabilize(3, seconds(10), At(1)), 3);
  EXPECT_EQ(memory.Stabilize(9, seconds(10), At(5)), 3);
  EXPECT_EQ(memory.Stabilize(7, seconds(10), At(10)), 3);
  EXPECT_EQ(memory.Stabilize(8, seconds(10), At(11)), 7);
  EXPECT_EQ(memory.Stabilize(8, seconds(0), At(12)), 8);
}

TEST(MemoryTest, LooksBackAsFarAsPoliciesAndWindowDo) {
  hpa::HpaSpec spec = Spec();
  EXPECT_EQ(Memory::LookBack(spec), seconds(15));
  spec.behavior->up.policies.push_back({hpa::PolicyType::kPods, 4, 90});
  EXPECT_EQ(Memory::LookBack(spec), seconds(90));
  spec.behavior->up.stabilization_window_seconds = 300;
  EXPECT_EQ(Memory::LookBack(spec), seconds(300));
  spec.behavior.reset();
  EXPECT_EQ(Memory::LookBack(spec), seconds(15));
}

TEST(MemoryTest, APodsNextPushIsExpectedAfterItsInterval) {
  Memory memory(At(0));
  PodTime time{.pod = "web-0", .received = At(10), .busy = true};
  memory.OnTimes({time});
  EXPECT_FALSE(memory.NextOf(time));
  time.received = At(15);
  memory.OnTimes({time});
  memory.OnTimes({time});  // another look, no push between
  EXPECT_EQ(memory.NextOf(time), At(20));
  memory.OnTimes({});
  EXPECT_FALSE(memory.NextOf(time)) << "a pod that is gone is forgotten";
}

TEST(MemoryTest, APodJoinsWithItsFirstLoadIfItIsFresh) {
  Memory memory(At(0));
  memory.OnTimes({{.pod = "old", .received = At(10), .busy = true, .fresh = false},
                  {.pod = "new", .received = At(10), .busy = false, .fresh = true}});
  EXPECT_EQ(memory.joined(), SteadyTime::min());
  memory.OnTimes({{.pod = "old", .received = At(11), .busy = true, .fresh = false},
                  {.pod = "new", .received = At(12), .busy = true, .fresh = true}});
  EXPECT_EQ(memory.joined(), At(12));
  memory.OnTimes({{.pod = "new", .received = At(14), .busy = true, .fresh = true}});
  EXPECT_EQ(memory.joined(), At(12));
}

}  // namespace
}  // namespace activescale::scaleahead
