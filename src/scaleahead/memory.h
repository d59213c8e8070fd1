#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "hpa/scale_history.h"
#include "hpa/types.h"

namespace activescale::scaleahead {

/// For the arithmetic of the controller, which only compares moments with each other: a clock that
/// nobody sets.
[[nodiscard]] inline base::WallTime WallOf(base::SteadyTime time) {
  return base::WallTime(
      std::chrono::duration_cast<base::WallTime::duration>(time.time_since_epoch()));
}

/// When a pod's newest value was received.
struct PodTime {
  std::string pod;
  base::SteadyTime received;
  bool busy = false;   // the value is not 0
  bool fresh = false;  // the pod is not ready, or is for less than Memory::kFreshPod
};

/// What is remembered of one HPA between two looks. All moments are of the steady clock, so that
/// nobody who sets the calendar changes a limit. Threads: one at a time.
class Memory {
 public:
  /// A pod that is ready for less may still take over load from the others.
  static constexpr std::chrono::seconds kFreshPod{60};
  /// A step that lasted this long was not undone.
  static constexpr std::chrono::seconds kUndoTime{60};
  static constexpr int kUndonePerBreak = 2;
  static constexpr std::chrono::minutes kBreak{5};

  explicit Memory(base::SteadyTime now) : since_(now) {}

  /// The watch showed another count, whoever changed it.
  void OnChange(const hpa::HpaSpec& spec, int32_t from, int32_t to, base::SteadyTime now);
  /// A step of ours was applied.
  void OnStep(int32_t to, base::SteadyTime now);
  /// A step of ours was refused as another change came first: the next tries wait longer.
  void OnConflict(base::SteadyTime now);
  /// Nothing before `until`.
  void BackOff(base::SteadyTime until) { back_off_until_ = std::max(back_off_until_, until); }

  /// Takes what the pods' values tell of how often they come and of pods that begin to serve.
  void OnTimes(const std::vector<PodTime>& times);
  /// Takes a recommendation and gives the lowest within the window that ends now, itself included.
  [[nodiscard]] int32_t Stabilize(int32_t proposed, std::chrono::seconds window,
                                  base::SteadyTime now);
  /// The most replicas that scaleUp allows now.
  [[nodiscard]] int32_t UpLimit(const hpa::HpaSpec& spec, int32_t current,
                                base::SteadyTime now) const;
  /// How long changes must have been watched for UpLimit and Stabilize to know all that counts.
  [[nodiscard]] static std::chrono::seconds LookBack(const hpa::HpaSpec& spec);

  /// Since when this HPA is watched.
  [[nodiscard]] base::SteadyTime since() const { return since_; }
  [[nodiscard]] base::SteadyTime last_change() const { return last_change_; }
  [[nodiscard]] base::SteadyTime last_down() const { return last_down_; }
  [[nodiscard]] base::SteadyTime back_off_until() const { return back_off_until_; }
  [[nodiscard]] base::SteadyTime broken_until() const { return broken_until_; }
  /// Steps of ours that somebody took back within kUndoTime.
  [[nodiscard]] uint64_t undone() const { return undone_; }

  /// When the newest pod was first seen to serve. Values that were received before may still hold
  /// what that pod has taken over.
  [[nodiscard]] base::SteadyTime joined() const { return joined_; }
  /// When the pod's next value is to be expected; nothing if it is not known.
  [[nodiscard]] std::optional<base::SteadyTime> NextOf(const PodTime& time) const;

  /// When the push came with which the present rise began; nothing while there is none.
  std::optional<base::SteadyTime> rising_since;

 private:
  struct PodMemory {
    base::SteadyTime received = base::SteadyTime::min();
    std::chrono::nanoseconds interval{0};  // 0: not known
    bool served = false;
    bool seen = false;  // in the last look
  };
  struct Recommendation {
    base::SteadyTime at;
    int32_t replicas;
  };

  base::SteadyTime since_;
  hpa::ScaleHistory history_;
  base::SteadyTime last_change_ = base::SteadyTime::min();
  base::SteadyTime last_up_ = base::SteadyTime::min();
  base::SteadyTime last_down_ = base::SteadyTime::min();
  base::SteadyTime back_off_until_ = base::SteadyTime::min();
  base::SteadyTime broken_until_ = base::SteadyTime::min();
  base::SteadyTime joined_ = base::SteadyTime::min();
  std::optional<base::SteadyTime> stepped_at_;
  int32_t stepped_to_ = 0;
  int undone_in_a_row_ = 0;
  uint64_t undone_ = 0;
  int conflicts_ = 0;  // in a row
  std::map<std::string, PodMemory, std::less<>> pods_;
  std::deque<Recommendation> lowest_;  // ascending in time and replicas: the window's minima
};

}  // namespace activescale::scaleahead
