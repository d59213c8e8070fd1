// Invariants:
// 1. nodes_ has a connection for every master of map_.
// 2. A connection is destroyed only in Tick, never while a call of it or to it may be on the stack.
#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "redis/reply_error.h"
#include "redis/topology.h"

namespace activescale::redis {
namespace {

constexpr std::chrono::milliseconds kRefreshInterval{200};
constexpr std::chrono::milliseconds kRefreshIntervalWhileAway{500};
constexpr std::chrono::seconds kRoutineRefresh{30};
// A connection that the map does not name is kept this long: a slot may be on its way there.
constexpr std::chrono::seconds kKeepUnnamed{10};

class ClusterTopology final : public Topology, public ConnectionListener {
 public:
  ClusterTopology(Environment& environment, TopologyListener& listener)
      : environment_(environment), listener_(listener) {
    AddSeeds();
  }

  void Tick(base::SteadyTime now) override {
    std::erase_if(nodes_, [&](const auto& entry) {
      return !entry.second.named && now - entry.second.wanted_at > kKeepUnnamed;
    });
    for (auto& [address, node] : nodes_) node.connection->Tick(now);
    const auto age = now - last_refresh_;
    if (age >= kRoutineRefresh || (suspect_ && age >= kRefreshInterval) ||
        (age >= kRefreshIntervalWhileAway && MastersAway())) {
      Refresh(now);
    }
  }

  void Nudge(base::SteadyTime now) override {
    for (auto& [address, node] : nodes_) node.connection->Nudge(now);
  }

  Connection* Route(uint16_t slot) override {
    const Address* owner = map_.Owner(slot);
    return owner == nullptr ? nullptr : nodes_.at(*owner).connection.get();
  }

  Connection* Follow(uint16_t slot, const Address& target, bool moved) override {
    Node& node = Ensure(target);
    if (moved) {
      map_.SetOwner(slot, target);
      node.named = true;
      suspect_ = true;
    }
    return node.connection.get();
  }

  void Suspect() override { suspect_ = true; }

  void Describe(ClientHealth& health) const override {
    for (const auto& [address, node] : nodes_) {
      health.nodes.push_back(
          DescribeConnection(*node.connection, node.named ? "master" : "node", node.named));
    }
    health.slots_without_node = map_.masters().empty() ? 0 : map_.unowned();
    health.problem = problem_;
  }

 private:
  struct Node {
    std::unique_ptr<Connection> connection;
    bool named = false;  // by the map, as a master
    base::SteadyTime wanted_at;
  };

  Node& Ensure(const Address& address) {
    const base::SteadyTime now = environment_.clock.Now();
    Node& node = nodes_[address];
    node.wanted_at = now;
    if (!node.connection) {
      node.connection = std::make_unique<Connection>(environment_, address,
                                                     Connection::Purpose::kClusterNode, *this);
      node.connection->Tick(now);
    }
    return node;
  }

  void AddSeeds() {
    for (const Address& address : environment_.config.addresses) Ensure(address);
  }

  [[nodiscard]] bool MastersAway() const {
    bool any = false;
    for (const auto& [address, node] : nodes_) {
      any = any || node.named;
      if (node.named && !node.connection->ready()) return true;
    }
    return !any || map_.unowned() > 0;
  }

  void OnLinkChange(Connection& connection) override {
    listener_.OnHealthChange();
    if (!connection.ready()) {
      suspect_ = true;
      return;
    }
    const SlotSet slots = map_.SlotsOf(connection.address());
    if (slots.any()) listener_.OnRoutesReady(slots);
  }

  /// A ready node, another one each time: one may be cut off from the rest and know old things.
  [[nodiscard]] Connection* NextReady() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      auto it = nodes_.upper_bound(last_asked_);
      if (it == nodes_.end()) it = nodes_.begin();
      last_asked_ = it->first;
      if (it->second.connection->ready()) return it->second.connection.get();
    }
    return nullptr;
  }

  void Refresh(base::SteadyTime now) {
    if (refreshing_) return;
    Connection* node = NextReady();
    if (node == nullptr) {
      // Nobody of whom we know: the first addresses may lead to others by now.
      last_refresh_ = now;
      return AddSeeds();
    }
    last_refresh_ = now;
    suspect_ = false;
    const Address asked = node->address();
    ReplyCallback done = [this, asked](base::Result<Answer> answer) {
      refreshing_ = false;
      if (answer) {
        OnSlots(answer->reply, asked);
      } else {
        suspect_ = true;
      }
    };
    if (node->Send(FormatCommand({"CLUSTER", "SLOTS"}), done)) {
      refreshing_ = true;
      environment_.stats.refreshes += 1;
    } else {
      suspect_ = true;
    }
  }

  void OnSlots(const Reply& reply, const Address& asked) {
    if (reply.IsError()) {
      SetProblem(fmt::format("{} gives no slot map: {}", asked.ToString(), Explain(reply.text)));
      return;
    }
    auto map = SlotMap::Parse(reply, asked);
    if (!map) return SetProblem(fmt::format("{}: {}", asked.ToString(), map.error().message));
    if (map->masters().empty()) {
      return SetProblem(fmt::format("{}: the Cluster has no slots assigned", asked.ToString()));
    }
    SetProblem("");
    Apply(std::move(*map));
  }

  void SetProblem(std::string problem) {
    if (problem_ == problem) return;
    problem_ = std::move(problem);
    if (!problem_.empty()) LOG_WARNING("redis: {}", problem_);
    listener_.OnHealthChange();
  }

  void Apply(SlotMap map) {
    const SlotMap old = std::exchange(map_, std::move(map));
    for (auto& [address, node] : nodes_) node.named = false;
    for (const Address& master : map_.masters()) Ensure(master).named = true;
    for (const Address& master : old.masters()) {
      if (old.SlotsOf(master).any() && map_.SlotsOf(master).none()) {
        LOG_INFO("redis: {} is no longer a master of the Cluster", master.ToString());
        environment_.stats.failovers += 1;
      }
    }
    SlotSet changed;
    for (uint16_t slot = 0; slot < kSlotCount; ++slot) {
      const Address* owner = map_.Owner(slot);
      const Address* before = old.Owner(slot);
      if (owner == nullptr || (before != nullptr && *before == *owner)) continue;
      if (nodes_.at(*owner).connection->ready()) changed.set(slot);
    }
    listener_.OnHealthChange();
    if (changed.any()) listener_.OnRoutesReady(changed);
  }

  Environment& environment_;
  TopologyListener& listener_;
  SlotMap map_;
  std::string problem_;
  bool suspect_ = true;
  bool refreshing_ = false;
  base::SteadyTime last_refresh_ = base::SteadyTime() - kRoutineRefresh;
  Address last_asked_;
  std::map<Address, Node> nodes_;
};

}  // namespace

std::unique_ptr<Topology> MakeCluster(Environment& environment, TopologyListener& listener) {
  return std::make_unique<ClusterTopology>(environment, listener);
}

}  // namespace activescale::redis
