#include "sim/request_service.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace activescale::sim {

RequestService::RequestService(const ServiceModel& model, uint64_t seed)
    : model_(model), random_(seed) {}

double RequestService::DrawWork() {
  if (model_.latency_spread <= 0) return model_.latency;
  const double variance = std::log(1 + model_.latency_spread * model_.latency_spread);
  std::lognormal_distribution<double> work(std::log(model_.latency) - variance / 2,
                                           std::sqrt(variance));
  return work(random_);
}

int64_t RequestService::FreePod() const {
  int64_t best = -1;
  int32_t least = 0;
  for (const int64_t pod : serving_) {
    const int32_t busy = running_.at(pod);
    if (model_.workers > 0 && busy >= model_.workers) continue;
    if (best < 0 || busy < least) {
      best = pod;
      least = busy;
    }
  }
  return best;
}

void RequestService::Start(double arrived, double now, int64_t pod) {
  ++running_[pod];
  completions_.push({now + DrawWork(), arrived, pod});
}

void RequestService::Arrive(double now) {
  const int64_t pod = FreePod();
  if (pod >= 0) {
    Start(now, now, pod);
  } else if (model_.queue_limit > 0 && std::ssize(queue_) >= model_.queue_limit) {
    refused_ += 1;
  } else {
    queue_.push_back(now);
  }
}

void RequestService::Complete() {
  const Completion done = completions_.top();
  completions_.pop();
  answered_.push_back(done.at - done.arrived);
  --running_[done.pod];
  if (queue_.empty()) return;
  const int64_t pod = FreePod();
  if (pod < 0) return;
  Start(queue_.front(), done.at, pod);
  queue_.pop_front();
}

void RequestService::TakePods(const Fleet& fleet, double before) {
  serving_.clear();
  for (const FleetPod& pod : fleet.pods()) {
    if (!pod.Serving(before)) continue;
    serving_.push_back(pod.id);
    running_.try_emplace(pod.id, 0);
  }
  std::erase_if(running_, [&](const auto& entry) {
    return entry.second == 0 && !std::ranges::binary_search(serving_, entry.first);
  });
  for (int64_t pod = FreePod(); pod >= 0 && !queue_.empty(); pod = FreePod()) {
    Start(queue_.front(), before, pod);
    queue_.pop_front();
  }
}

void RequestService::Step(double before, double now, double qps, const Fleet& fleet) {
  answered_.clear();
  TakePods(fleet, before);
  // Arrivals have no memory, so each step may draw its first one anew.
  std::exponential_distribution<double> gap(qps > 0 ? qps : 1);
  double arrival = qps > 0 ? before + gap(random_) : FleetPod::kNever;
  for (;;) {
    const double completion = completions_.empty() ? FleetPod::kNever : completions_.top().at;
    if (std::min(arrival, completion) > now) return;
    if (completion <= arrival) {
      Complete();
    } else {
      Arrive(arrival);
      arrival += gap(random_);
    }
  }
}

ServiceState RequestService::state() const {
  const auto running = static_cast<double>(completions_.size());
  return {.in_flight = running + queued(),
          .running = running,
          .serving = static_cast<int32_t>(serving_.size()),
          .running_by_pod = &running_};
}

double RequestService::latency() const {
  if (answered_.empty()) return model_.latency;
  double sum = 0;
  for (const double seconds : answered_) sum += seconds;
  return sum / static_cast<double>(answered_.size());
}

void RequestService::AddLatencies(LatencyRecord& record) const {
  for (const double seconds : answered_) record.Add(seconds, 1);
}

}  // namespace activescale::sim
