#include "insight/load_history.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "insight/json_parts.h"

namespace activescale::insight {
namespace {

constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

}  // namespace

void LoadHistory::Add(const Fleet& fleet, base::SteadyTime now) {
  if (!begun_) begun_ = now - kStep;
  const auto step = static_cast<uint64_t>((now - *begun_) / kStep);
  if (step <= step_) return;
  SkipTo(step);
  at_ = fleet.at;
  for (const WorkloadSight& workload : fleet.workloads) {
    auto at =
        rings_.find(std::pair<std::string_view, std::string_view>(workload.ns, workload.name));
    if (at == rings_.end()) {
      if (!workload.heard() || rings_.size() >= kMaxWorkloads) continue;
      auto ring = std::make_unique<Ring>();
      for (auto& series : ring->points) series.fill(kNothing);
      at = rings_.emplace(Key(workload.ns, workload.name), std::move(ring)).first;
    }
    Ring& ring = *at->second;
    if (workload.heard()) ring.last_heard = step_;
    const size_t point = step_ % kPoints;
    for (size_t kind = 0; kind < metric::kMetricKindCount; ++kind) {
      const auto& load = workload.loads[kind];
      ring.points[kind][point] = load ? static_cast<float>(load->total.ToDouble()) : kNothing;
    }
    ring.points[kSeries - 1][point] = static_cast<float>(workload.pods.size());
  }
  std::erase_if(rings_,
                [this](const auto& ring) { return step_ - ring.second->last_heard >= kPoints; });
}

void LoadHistory::SkipTo(uint64_t step) {
  const uint64_t skipped = std::min<uint64_t>(step - step_, kPoints);
  for (auto& [name, ring] : rings_) {
    for (auto& series : ring->points) {
      for (uint64_t i = 0; i < skipped; ++i) series[(step - i) % kPoints] = kNothing;
    }
  }
  step_ = step;
}

void LoadHistory::AppendPoints(const Ring* ring, size_t series, std::string& out) const {
  out += '[';
  JsonSeparator separate;
  for (size_t i = 1; ring != nullptr && i <= kPoints; ++i) {
    const float value = ring->points[series][(step_ + i) % kPoints];
    separate(out);
    // As many digits as a plot can show; sums of 2^53 milli-units are beyond it anyway.
    AppendAmount(
        std::isnan(value) ? std::nullopt : metric::Quantity::FromSample(static_cast<double>(value)),
        out);
  }
  out += ']';
}

std::string LoadHistory::Json(const std::vector<Name>& names, std::optional<size_t> metric) const {
  std::string out = "{\"at\":";
  AppendTime(at_, out);
  out += ",\"step\":";
  AppendNumber(kStep.count(), out);
  out += ",\"workloads\":[";
  JsonSeparator separate;
  for (const Name& name : names) {
    separate(out);
    const auto at = rings_.find(std::pair<std::string_view, std::string_view>(name.ns, name.name));
    const Ring* ring = at == rings_.end() ? nullptr : at->second.get();
    out += "{\"ns\":";
    base::AppendJsonString(name.ns, out);
    out += ",\"name\":";
    base::AppendJsonString(name.name, out);
    out += ",\"values\":";
    if (metric) {
      AppendPoints(ring, *metric, out);
    } else {
      out += '[';
      for (size_t kind = 0; kind < metric::kMetricKindCount; ++kind) {
        if (kind > 0) out += ',';
        AppendPoints(ring, kind, out);
      }
      out += "],\"pods\":";
      AppendPoints(ring, kSeries - 1, out);
    }
    out += '}';
  }
  out += "]}";
  return out;
}

}  // namespace activescale::insight
