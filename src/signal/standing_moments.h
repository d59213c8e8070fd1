#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"

namespace activescale::signal {

/// Questions that are answered as of an earlier moment for a while: those of an HPA whose target
/// was scaled up between two syncs of its controller, as its new pods are taking over load and the
/// newest values of all its pods are of different moments. Threads: any.
class StandingMoments {
 public:
  /// `clock` must outlive it.
  explicit StandingMoments(const base::Clock& clock) : clock_(clock) {}

  /// The question is answered as of now for so long.
  void Stand(std::string question, std::chrono::seconds time) EXCLUDES(mutex_);
  void Release(const std::string& question) EXCLUDES(mutex_);
  /// The moment in Unix milliseconds; nothing: now.
  [[nodiscard]] std::optional<int64_t> Of(std::string_view question) const EXCLUDES(mutex_);

 private:
  struct Moment {
    int64_t at_ms;
    base::SteadyTime until;
  };

  const base::Clock& clock_;
  mutable base::Mutex mutex_;
  std::map<std::string, Moment, std::less<>> moments_ GUARDED_BY(mutex_);
};

}  // namespace activescale::signal
