#include "app/summary_log.h"

#include <fmt/format.h>

#include <utility>

#include "base/duration.h"
#include "base/log.h"

namespace activescale::app {

SummaryLog::SummaryLog(std::chrono::nanoseconds interval, std::vector<Entry> entries,
                       base::SteadyTime now)
    : interval_(interval), entries_(std::move(entries)), last_(now) {
  for (const Entry& entry : entries_) told_.push_back(entry.total());
}

void SummaryLog::Tick(base::SteadyTime now) {
  if (interval_ == std::chrono::nanoseconds(0) || now - last_ < interval_) return;
  std::string line;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const double total = entries_[i].total();
    line += fmt::format(" {}={:.0f}", entries_[i].name, total - told_[i]);
    told_[i] = total;
  }
  const auto elapsed = std::chrono::round<std::chrono::milliseconds>(now - last_);
  LOG_INFO("summary of the last {}:{}", base::FormatDuration(elapsed), line);
  last_ = now;
}

}  // namespace activescale::app
