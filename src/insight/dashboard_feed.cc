#include "insight/dashboard_feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "insight/workload_page.h"

namespace activescale::insight {
namespace {

/// One server-sent event. JSON has no line breaks, whatever the names in it.
/// Source: https://html.spec.whatwg.org/multipage/server-sent-events.html.
net::HttpStream::Piece Event(std::string_view name, std::string_view json) {
  std::string text;
  text.reserve(name.size() + json.size() + 32);
  text += "event: ";
  text += name;
  text += "\ndata: ";
  text += json;
  text += "\n\n";
  return std::make_shared<const std::string>(std::move(text));
}

std::vector<metric::PodKey> KeysOf(const std::vector<kube::IndexedPod>& pods) {
  std::vector<metric::PodKey> keys;
  keys.reserve(pods.size());
  for (const kube::IndexedPod& pod : pods) keys.push_back(pod.key);
  return keys;
}

}  // namespace

DashboardFeed::DashboardFeed(Parts parts)
    : parts_(std::move(parts)),
      pages_(parts_.registry.AddGauge("activescale_dashboard_open_pages",
                                      "Pages of the dashboard that are open and live.")) {}

bool DashboardFeed::Watched() const {
  return !fresh_.empty() || !live_.empty() || !workloads_.empty();
}

void DashboardFeed::Tick() {
  const base::SteadyTime now = parts_.clock.Now();
  // Half an interval of slack: ticks are not exact, and a point of the history must not be missed.
  const bool due = !read_at_ || now - *read_at_ >= LoadHistory::kStep - kInterval / 2;
  if (due || Watched()) Read();
}

void DashboardFeed::Read() {
  if (trip_) return;  // the store answers within its deadline
  trip_ = std::make_shared<Trip>();
  read_at_ = parts_.clock.Now();
  auto pods = parts_.pods.List();
  if (!pods) {
    trip_->problem = "the pods are not known: " + pods.error().message;
    return Finish(*trip_);
  }
  trip_->pods = *std::move(pods);
  if (trip_->pods.empty()) return Finish(*trip_);
  parts_.store.ReadAll(KeysOf(trip_->pods),
                       [this, trip = trip_](base::Result<store::ReadAllResult> result) {
                         parts_.post([this, trip, result = std::move(result)]() mutable {
                           OnRead(*trip, std::move(result));
                         });
                       });
}

void DashboardFeed::OnRead(Trip& trip, base::Result<store::ReadAllResult> result) {
  if (!result) {
    trip.problem = "the store does not answer: " + result.error().message;
  } else if (result->partial) {
    trip.problem = "a part of the store does not answer; its pods are shown as missing";
  }
  if (result) trip.readings = std::move(result->readings);
  trip.readings.resize(trip.pods.size());  // missing, where there is no answer
  Finish(trip);
}

void DashboardFeed::Finish(Trip& trip) {
  fleet_ = MakeFleet(std::move(trip.pods), trip.readings, parts_.ttl, parts_.clock);
  problem_ = std::move(trip.problem);
  trip_.reset();
  history_.Add(fleet_, parts_.clock.Now());
  Publish();
}

HpaTable::Hpas DashboardFeed::Hpas() const {
  return parts_.hpas == nullptr ? HpaTable::Hpas() : parts_.hpas->List();
}

Deployments DashboardFeed::ReadDeployments() const {
  using kube::ScaleWatch;
  Deployments deployments;
  if (parts_.scales == nullptr) return deployments;
  for (const auto& object : parts_.scales->deployments().List()) {
    const auto number = [&object](ScaleWatch::Deployment index) {
      return static_cast<int32_t>(object.numbers[index].value_or(0));
    };
    deployments.try_emplace({object.ns, object.name},
                            DeploymentReplicas{.wanted = number(ScaleWatch::kSpecReplicas),
                                               .ready = number(ScaleWatch::kReadyReplicas)});
  }
  return deployments;
}

void DashboardFeed::Publish() {
  PublishOverview();
  PublishWorkloads();
  CountPages();
}

void DashboardFeed::PublishOverview() {
  if (fresh_.empty() && live_.empty()) {
    overview_.reset();
    whole_.reset();
    return;
  }
  Overview next = MakeOverview({.facts = parts_.facts,
                                .fleet = fleet_,
                                .history = history_,
                                .hpas = Hpas(),
                                .deployments = ReadDeployments(),
                                .ahead = parts_.ahead,
                                .streams = parts_.streams(),
                                .checks = parts_.checks.Run(),
                                .problem = problem_});
  if (!live_.empty()) SendTo(live_, Event("change", ChangeJson(*overview_, next)));
  overview_ = std::move(next);
  whole_.reset();
  if (fresh_.empty()) return;
  whole_ = Event("overview", OverviewJson(*overview_));
  SendTo(fresh_, whole_);
  std::ranges::move(fresh_, std::back_inserter(live_));
  fresh_.clear();
}

void DashboardFeed::PublishWorkloads() {
  if (workloads_.empty()) return;
  const HpaTable::Hpas hpas = Hpas();
  const Deployments deployments = ReadDeployments();
  for (auto& [name, streams] : workloads_) {
    SendTo(streams, Event("workload", WorkloadText(name, hpas, deployments)));
  }
  std::erase_if(workloads_, [](const auto& watched) { return watched.second.empty(); });
}

std::string DashboardFeed::WorkloadText(const WorkloadName& name, const HpaTable::Hpas& hpas,
                                        const Deployments& deployments) const {
  WorkloadPageInput input{.ns = name.first,
                          .name = name.second,
                          .facts = parts_.facts,
                          .fleet = fleet_,
                          .hpas = hpas,
                          .deployments = deployments,
                          .ahead = parts_.ahead,
                          .find_pod = nullptr,
                          .problem = problem_};
  if (parts_.watched_pods != nullptr) {
    input.find_pod = [this](metric::PodKeyView pod) { return parts_.watched_pods->Find(pod); };
  }
  return WorkloadJson(input);
}

void DashboardFeed::SendTo(Streams& streams, const net::HttpStream::Piece& piece) {
  std::erase_if(streams, [&piece](const auto& stream) { return !stream->Send(piece); });
}

void DashboardFeed::CountPages() {
  size_t open = live_.size() + fresh_.size();
  for (const auto& [name, streams] : workloads_) open += streams.size();
  pages_.Set(static_cast<double>(open));
}

std::shared_ptr<net::HttpStream> DashboardFeed::WatchOverview() {
  auto stream = std::make_shared<net::HttpStream>(kMaxUnsentBytes);
  if (overview_ && !live_.empty()) {
    if (!whole_) whole_ = Event("overview", OverviewJson(*overview_));
    stream->Send(whole_);
    live_.push_back(stream);
  } else {
    fresh_.push_back(stream);
    Read();
  }
  CountPages();
  return stream;
}

std::shared_ptr<net::HttpStream> DashboardFeed::WatchWorkload(const std::string& ns,
                                                              const std::string& name) {
  auto stream = std::make_shared<net::HttpStream>(kMaxUnsentBytes);
  Streams& streams = workloads_[{ns, name}];
  streams.push_back(stream);
  if (read_at_ && parts_.clock.Now() - *read_at_ <= 2 * kInterval && !trip_) {
    // What was just read for others is new enough.
    stream->Send(Event("workload", WorkloadText({ns, name}, Hpas(), ReadDeployments())));
  } else {
    Read();
  }
  CountPages();
  return stream;
}

}  // namespace activescale::insight
