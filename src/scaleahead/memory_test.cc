#include "scaleahead/memory.h"

#include <gtest/gtest.h>

#include <chrono>

#include "scaleahead/testing/objects.h"

namespace activescale::scaleahead {
namespace {

using base::SteadyTime;
using std::chrono::milliseconds;
using std::chrono::seconds;

SteadyTime Second(int second) { return SteadyTime(seconds(1'000'000 + second)); }

const hpa::HpaSpec& Spec() {
  static const hpa::HpaSpec spec = WebHpa().spec;
  return spec;
}

TEST(MemoryTest, AStepThatLastsAMinuteIsNotUndoneLater) {
  Memory memory(Second(0));
  memory.OnStep(8, Second(10));
  memory.OnChange(Spec(), 8, 4, Second(71));
  EXPECT_EQ(memory.undone(), 0U);
}

TEST(MemoryTest, AChangeThatStaysAboveTheStepUndoesNothing) {
  Memory memory(Second(0));
  memory.OnStep(8, Second(10));
  memory.OnChange(Spec(), 8, 16, Second(12));
  memory.OnChange(Spec(), 16, 8, Second(20));
  EXPECT_EQ(memory.undone(), 0U);
}

TEST(MemoryTest, AStepThatLastsForgivesTheOneBefore) {
  Memory memory(Second(0));
  memory.OnStep(8, Second(10));
  memory.OnChange(Spec(), 8, 2, Second(20));
  memory.OnStep(8, Second(100));  // lasts
  memory.OnStep(12, Second(200));
  memory.OnChange(Spec(), 12, 2, Second(210));
  EXPECT_EQ(memory.undone(), 2U);
  EXPECT_LE(memory.broken_until(), Second(210));
}

TEST(MemoryTest, ConflictsWaitLongerEachTime) {
  Memory memory(Second(0));
  for (const int wait_ms : {100, 200, 400, 800, 1'600, 3'200, 3'200}) {
    memory.OnConflict(Second(10));
    EXPECT_EQ(memory.back_off_until(), Second(10) + milliseconds(wait_ms));
  }
  memory.OnStep(4, Second(20));
  memory.OnConflict(Second(30));
  EXPECT_EQ(memory.back_off_until(), Second(30) + milliseconds(100));
}

TEST(MemoryTest, AWindowForgetsWhatIsOlder) {
  Memory memory(Second(0));
  EXPECT_EQ(memory.Stabilize(5, seconds(10), Second(0)), 5);
  EXPECT_EQ(memory.Stabilize(3, seconds(10), Second(1)), 3);
  EXPECT_EQ(memory.Stabilize(9, seconds(10), Second(5)), 3);
  EXPECT_EQ(memory.Stabilize(7, seconds(10), Second(10)), 3);
  EXPECT_EQ(memory.Stabilize(8, seconds(10), Second(11)), 7);
  EXPECT_EQ(memory.Stabilize(8, seconds(0), Second(12)), 8);
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
  Memory memory(Second(0));
  PodTime time{.pod = "web-0", .received = Second(10), .busy = true};
  memory.OnTimes({time});
  EXPECT_FALSE(memory.NextOf(time));
  time.received = Second(15);
  memory.OnTimes({time});
  memory.OnTimes({time});  // another look, no push between
  EXPECT_EQ(memory.NextOf(time), Second(20));
  memory.OnTimes({});
  EXPECT_FALSE(memory.NextOf(time)) << "a pod that is gone is forgotten";
}

TEST(MemoryTest, APodJoinsWithItsFirstLoadIfItIsFresh) {
  Memory memory(Second(0));
  memory.OnTimes({{.pod = "old", .received = Second(10), .busy = true, .fresh = false},
                  {.pod = "new", .received = Second(10), .busy = false, .fresh = true}});
  EXPECT_EQ(memory.joined(), SteadyTime::min());
  memory.OnTimes({{.pod = "old", .received = Second(11), .busy = true, .fresh = false},
                  {.pod = "new", .received = Second(12), .busy = true, .fresh = true}});
  EXPECT_EQ(memory.joined(), Second(12));
  memory.OnTimes({{.pod = "new", .received = Second(14), .busy = true, .fresh = true}});
  EXPECT_EQ(memory.joined(), Second(12));
}

}  // namespace
}  // namespace activescale::scaleahead
