#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "redis/sentinel.h"
#include "redis/topology.h"

namespace activescale::redis {
namespace {

constexpr std::chrono::milliseconds kAskInterval{250};

class SentinelTopology final : public Topology, public ConnectionListener {
 public:
  SentinelTopology(Environment& environment, TopologyListener& listener)
      : environment_(environment), listener_(listener) {
    using enum Connection::Purpose;
    for (const Address& address : environment.config.addresses) {
      sentinels_.push_back(
          {std::make_unique<Connection>(environment, address, kSentinel, *this),
           std::make_unique<Connection>(environment, address, kSentinelEvents, *this),
           std::nullopt});
    }
  }

  void Tick(base::SteadyTime now) override {
    retired_.clear();
    for (Sentinel& sentinel : sentinels_) {
      sentinel.questions->Tick(now);
      sentinel.events->Tick(now);
    }
    if (master_) master_->Tick(now);
    const bool settled = master_ && master_->ready() && !suspect_;
    if (!settled && now - last_asked_ >= kAskInterval) Ask(now);
  }

  void Nudge(base::SteadyTime now) override {
    for (Sentinel& sentinel : sentinels_) {
      sentinel.questions->Nudge(now);
      sentinel.events->Nudge(now);
    }
    if (master_) master_->Nudge(now);
  }

  Connection* Route(uint16_t /*slot*/) override { return master_.get(); }
  Connection* Follow(uint16_t /*slot*/, const Address& /*target*/, bool /*moved*/) override {
    return nullptr;
  }
  void Suspect() override { suspect_ = true; }

  void Describe(ClientHealth& health) const override {
    if (master_) health.nodes.push_back(DescribeConnection(*master_, "master", true));
    for (const Sentinel& sentinel : sentinels_) {
      health.nodes.push_back(DescribeConnection(*sentinel.questions, "sentinel", false));
    }
    health.problem = problem_;
  }

 private:
  struct Sentinel {
    std::unique_ptr<Connection> questions;
    std::unique_ptr<Connection> events;
    std::optional<Address> master;  // as it said last
  };

  void OnLinkChange(Connection& connection) override {
    // What was announced while the subscription was away is not told again.
    if (connection.purpose() == Connection::Purpose::kSentinelEvents) suspect_ = true;
    listener_.OnHealthChange();
    if (&connection == master_.get() && connection.ready()) {
      listener_.OnRoutesReady(SlotSet().set());
    }
  }

  void OnEvent(Connection& /*connection*/, const Reply& event) override {
    const auto master = ParseSwitchMaster(event, environment_.config.sentinel_master);
    if (!master) return;
    // A Sentinel announces only what has a newer epoch: no vote is needed.
    for (Sentinel& sentinel : sentinels_) sentinel.master = master;
    UseMaster(*master);
  }

  void Ask(base::SteadyTime now) {
    last_asked_ = now;
    suspect_ = false;
    const std::string question =
        FormatCommand({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", environment_.config.sentinel_master});
    for (size_t i = 0; i < sentinels_.size(); ++i) {
      if (!sentinels_[i].questions->ready()) continue;
      environment_.stats.refreshes += 1;
      ReplyCallback done = [this, i](base::Result<Answer> answer) {
        if (answer) OnAnswer(sentinels_[i], answer->reply);
      };
      // A full queue counts as no answer: the next round asks again.
      if (!sentinels_[i].questions->Send(question, done)) suspect_ = true;
    }
  }

  void OnAnswer(Sentinel& sentinel, const Reply& reply) {
    auto master = ParseMasterAddress(reply, environment_.config.sentinel_master);
    if (master) {
      sentinel.master = std::move(*master);
    } else {
      sentinel.master.reset();
      problem_ = fmt::format("sentinel {}: {}", sentinel.questions->address().ToString(),
                             master.error().message);
      listener_.OnHealthChange();
    }
    CountVotes();
  }

  /// While the present master is ready only a majority of all Sentinels moves us away from it;
  /// without one the most votes do, and of equals the one we are not failing at.
  void CountVotes() {
    std::map<Address, size_t> votes;
    for (const Sentinel& sentinel : sentinels_) {
      if (sentinel.master) votes[*sentinel.master] += 1;
    }
    if (votes.empty()) return;
    const auto weight = [&](const auto& entry) {
      return std::pair(entry.second, !master_ || entry.first != master_->address());
    };
    const auto best = std::ranges::max_element(votes, {}, weight);
    const bool ready = master_ && master_->ready();
    if (!ready || best->second * 2 > sentinels_.size()) UseMaster(best->first);
  }

  void UseMaster(const Address& address) {
    problem_.clear();
    if (master_ && master_->address() == address) return;
    if (master_) {
      LOG_INFO("redis: Sentinel names {} as master of {} instead of {}", address.ToString(),
               environment_.config.sentinel_master, master_->address().ToString());
      environment_.stats.failovers += 1;
      retired_.push_back(std::move(master_));
    }
    master_ =
        std::make_unique<Connection>(environment_, address, Connection::Purpose::kMaster, *this);
    master_->Tick(environment_.clock.Now());
    listener_.OnHealthChange();
  }

  Environment& environment_;
  TopologyListener& listener_;
  std::string problem_;
  bool suspect_ = false;
  base::SteadyTime last_asked_;
  std::vector<Sentinel> sentinels_;
  std::unique_ptr<Connection> master_;
  std::vector<std::unique_ptr<Connection>> retired_;  // gone with the next tick
};

}  // namespace

std::unique_ptr<Topology> MakeSentinel(Environment& environment, TopologyListener& listener) {
  return std::make_unique<SentinelTopology>(environment, listener);
}

}  // namespace activescale::redis
