#include "ingest/flush_aggregator.h"

namespace activescale::ingest {
namespace {

void AddTo(store::Flush& sum, const store::Flush& part, bool* saturated) {
  for (size_t i = 0; i < sum.values.size(); ++i) {
    if (!part.values[i]) continue;
    sum.values[i] =
        sum.values[i].value_or(metric::Quantity()).SaturatingAdd(*part.values[i], saturated);
  }
}

}  // namespace

FlushAggregator::Publications FlushAggregator::Add(std::optional<int64_t> timestamp_ms,
                                                   const store::Flush& part, base::SteadyTime now,
                                                   bool* saturated) {
  Publications result;
  if (messages_ > 0 && timestamp_ms && timestamp_ms == timestamp_ms_) {
    mode_ = Mode::kBatched;
    ++messages_;
  } else {
    result.ended = TakeLast();
    timestamp_ms_ = timestamp_ms;
    flush_ = {};
    messages_ = 1;
  }
  AddTo(flush_, part, saturated);
  received_ = now;
  held_back_ = true;
  if (!timestamp_ms || mode_ == Mode::kUnbatched) result.current = Publish();
  return result;
}

std::optional<base::SteadyTime> FlushAggregator::due() const {
  if (!held_back_) return std::nullopt;
  return received_ + kQuiet;
}

std::optional<FlushAggregator::Publication> FlushAggregator::TakeDue(base::SteadyTime now) {
  if (!held_back_ || now < received_ + kQuiet) return std::nullopt;
  return Publish();
}

std::optional<FlushAggregator::Publication> FlushAggregator::TakeLast() {
  if (!held_back_) return std::nullopt;
  return Publish();
}

FlushAggregator::Publication FlushAggregator::Publish() {
  held_back_ = false;
  if (mode_ == Mode::kUnknown && timestamp_ms_ &&
      ++single_message_flushes_ == kSingleMessageFlushes) {
    mode_ = Mode::kUnbatched;
  }
  Publication publication{flush_, received_};
  for (size_t i = 0; i < seen_.size(); ++i) {
    std::optional<metric::Quantity>& value = publication.flush.values[i];
    if (!value && seen_[i] && absent_ == AbsentFamily::kZero) value = metric::Quantity();
    seen_[i] = seen_[i] || value.has_value();
  }
  return publication;
}

}  // namespace activescale::ingest
