#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "kube/hpa_object.h"
#include "telemetry/registry.h"

namespace activescale::scaleahead {

/// What an HPA gets of steps ahead at this moment.
enum class State : uint8_t {
  kOff,
  kObserve,
  kOn,
  kBroken,  // its circuit is open: two steps were undone
};

/// Its name, e.g. "observe".
[[nodiscard]] constexpr std::string_view StateName(State state) {
  constexpr std::array<std::string_view, 4> kNames = {"off", "observe", "on", "broken"};
  return kNames[static_cast<size_t>(state)];
}

/// The states of all HPAs that ask, for people to look at: as a metric of each, whose value is the
/// State's number, and by name. Threads: any.
class StateBoard {
 public:
  /// `registry` must outlive it.
  explicit StateBoard(telemetry::Registry& registry) : registry_(registry) {}

  void Set(const kube::HpaObject& hpa, State state);
  void Remove(const std::string& ns, const std::string& hpa);
  /// kOff of one that does not ask.
  [[nodiscard]] State Of(std::string_view ns, std::string_view hpa) const;

 private:
  struct Entry {
    State state;
    telemetry::Gauge* gauge;
  };

  telemetry::Registry& registry_;
  mutable base::Mutex mutex_;
  std::map<std::pair<std::string, std::string>, Entry> entries_ GUARDED_BY(mutex_);
};

}  // namespace activescale::scaleahead
