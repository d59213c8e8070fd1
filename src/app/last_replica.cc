#include "app/last_replica.h"

#include <algorithm>

namespace activescale::app {

bool StaysInService(std::string_view self, const std::vector<std::string>& ready, bool waits) {
  const auto other = std::ranges::find_if(ready, [&](const auto& pod) { return pod != self; });
  if (self.empty() || other == ready.end()) return true;
  return waits && self < *other;
}

void LastReplica::OnStoreReady() {
  base::MutexLock lock(mutex_);
  stays_ = true;
  patience_ = kOthersLeaveWithin;
  others_since_.reset();
}

bool LastReplica::Stays(const std::optional<std::vector<std::string>>& ready,
                        base::SteadyTime now) {
  base::MutexLock lock(mutex_);
  if (!ready) return stays_;
  if (std::ranges::all_of(*ready, [this](const auto& pod) { return pod == self_; })) {
    patience_ = kOthersLeaveWithin;
    others_since_.reset();
  } else if (!others_since_) {
    others_since_ = now;
  }
  const bool waits = others_since_ && now - *others_since_ < patience_;
  stays_ = StaysInService(self_, *ready, waits);
  return stays_;
}

}  // namespace activescale::app
