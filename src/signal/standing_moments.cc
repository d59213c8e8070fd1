#include "signal/standing_moments.h"

#include <utility>

#include "base/unix_time.h"

namespace activescale::signal {

using base::MutexLock;

void StandingMoments::Stand(std::string question, std::chrono::seconds time) {
  const base::SteadyTime now = clock_.Now();
  const MutexLock lock(mutex_);
  std::erase_if(moments_, [now](const auto& entry) { return entry.second.until <= now; });
  moments_.insert_or_assign(std::move(question), Moment{base::UnixMsNow(clock_), now + time});
}

void StandingMoments::Release(const std::string& question) {
  const MutexLock lock(mutex_);
  moments_.erase(question);
}

std::optional<int64_t> StandingMoments::Of(std::string_view question) const {
  const MutexLock lock(mutex_);
  const auto found = moments_.find(question);
  if (found == moments_.end() || found->second.until <= clock_.Now()) return std::nullopt;
  return found->second.at_ms;
}

}  // namespace activescale::signal
