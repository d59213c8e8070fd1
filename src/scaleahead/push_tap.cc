#include "scaleahead/push_tap.h"

#include <utility>

namespace activescale::scaleahead {

class PushTap::Stream final : public store::PodStream {
 public:
  Stream(PushTap& tap, metric::PodKey pod)
      : tap_(tap), pod_(std::move(pod)), stream_(tap.store_.Open(pod_)) {}

  store::WriteOutcome Write(const store::Flush& flush, base::SteadyTime received) override {
    const store::WriteOutcome outcome = stream_->Write(flush, received);
    if (outcome == store::WriteOutcome::kStored) tap_.Note(pod_);
    return outcome;
  }
  store::WriteOutcome Heartbeat(base::SteadyTime received) override {
    return stream_->Heartbeat(received);
  }

 private:
  PushTap& tap_;
  const metric::PodKey pod_;
  const std::unique_ptr<store::PodStream> stream_;
};

std::unique_ptr<store::PodStream> PushTap::Open(metric::PodKey pod) {
  return std::make_unique<Stream>(*this, std::move(pod));
}

void PushTap::Note(const metric::PodKey& pod) {
  if (!wanted_.load(std::memory_order_relaxed)) return;
  const base::MutexLock lock(mutex_);
  if (pushed_.pods.size() < kMaxNoted) {
    pushed_.pods.push_back(pod);
  } else {
    pushed_.more = true;
  }
}

PushTap::Pushed PushTap::Take() {
  const base::MutexLock lock(mutex_);
  return std::exchange(pushed_, {});
}

}  // namespace activescale::scaleahead
