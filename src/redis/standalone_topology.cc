#include <fmt/format.h>

#include "redis/topology.h"

namespace activescale::redis {
namespace {

class StandaloneTopology final : public Topology, public ConnectionListener {
 public:
  StandaloneTopology(Environment& environment, TopologyListener& listener)
      : listener_(listener),
        connection_(environment, environment.config.addresses.front(), Connection::Purpose::kMaster,
                    *this) {}

  void Tick(base::SteadyTime now) override { connection_.Tick(now); }
  void Nudge(base::SteadyTime now) override { connection_.Nudge(now); }
  Connection* Route(uint16_t /*slot*/) override { return &connection_; }
  Connection* Follow(uint16_t /*slot*/, const Address& /*target*/, bool /*moved*/) override {
    return nullptr;
  }
  void Suspect() override {}
  void Describe(ClientHealth& health) const override {
    health.nodes.push_back(DescribeConnection(connection_, "server", true));
  }

 private:
  void OnLinkChange(Connection& connection) override {
    listener_.OnHealthChange();
    if (connection.ready()) listener_.OnRoutesReady(SlotSet().set());
  }

  TopologyListener& listener_;
  Connection connection_;
};

}  // namespace

NodeHealth DescribeConnection(const Connection& connection, std::string_view role, bool serves) {
  const LinkState& link = connection.link();
  return {fmt::format("{} {}", role, connection.address().ToString()),
          serves,
          link.phase(),
          link.since(),
          link.reason(),
          link.attempts()};
}

std::unique_ptr<Topology> MakeStandalone(Environment& environment, TopologyListener& listener) {
  return std::make_unique<StandaloneTopology>(environment, listener);
}

}  // namespace activescale::redis
