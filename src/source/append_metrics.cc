#include "source/append_metrics.h"

namespace activescale::source {

AppendCounters MakeAppendCounters(telemetry::Registry& registry, const std::string& name,
                                  const std::string& help) {
  constexpr std::array<const char*, series::kAppendOutcomes> kOutcomes = {
      "stored", "not_wanted", "out_of_order", "duplicate", "full"};
  AppendCounters counters;
  for (size_t i = 0; i < counters.size(); ++i) {
    counters[i] = &registry.AddCounter(name, help, {{"outcome", kOutcomes[i]}});
  }
  return counters;
}

}  // namespace activescale::source
