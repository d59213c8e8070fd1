#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/warning_gate.h"
#include "kube/api_client.h"
#include "scaleahead/hands.h"
#include "telemetry/registry.h"

namespace activescale::scaleahead {

/// Who took a step, in the target's managedFields.
inline constexpr std::string_view kFieldManager = "activescale-scale-ahead";

/// Writes scales and events through the API server. Threads: any.
class KubeHands final : public Hands {
 public:
  struct Options {
    std::string instance;  // the replica's name, for events
  };
  /// `api`, `clock` and `registry` must outlive it, and it its calls.
  KubeHands(Options options, kube::ApiClient& api, const base::Clock& clock,
            telemetry::Registry& registry);

  void Scale(const Step& step, std::move_only_function<void(StepResult)> done) override;
  void Tell(const kube::HpaObject& hpa, const Notice& notice) override;

 private:
  const Options options_;
  kube::ApiClient& api_;
  const base::Clock& clock_;
  telemetry::Counter& lost_events_;
  base::WarningGate event_warning_;
};

}  // namespace activescale::scaleahead
