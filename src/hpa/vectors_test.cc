// Replays what the real controller decided (tests/hpa makes the vectors) through Autoscaler.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "hpa/autoscaler.h"

namespace activescale::hpa {
namespace {

namespace json = boost::json;

template <typename E, size_t N>
E ParseName(std::string_view text, const std::pair<std::string_view, E> (&names)[N]) {
  for (const auto& [name, value] : names) {
    if (name == text) return value;
  }
  ADD_FAILURE() << "unknown name in the vectors: " << text;
  return names[0].second;
}

constexpr std::pair<std::string_view, MetricType> kMetricTypes[] = {
    {"Pods", MetricType::kPods},
    {"Object", MetricType::kObject},
    {"External", MetricType::kExternal},
    {"Resource", MetricType::kResource}};
constexpr std::pair<std::string_view, TargetType> kTargetTypes[] = {
    {"Value", TargetType::kValue},
    {"AverageValue", TargetType::kAverageValue},
    {"Utilization", TargetType::kUtilization}};
constexpr std::pair<std::string_view, SelectPolicy> kSelectPolicies[] = {
    {"Max", SelectPolicy::kMax},
    {"Min", SelectPolicy::kMin},
    {"Disabled", SelectPolicy::kDisabled}};
constexpr std::pair<std::string_view, PolicyType> kPolicyTypes[] = {
    {"Pods", PolicyType::kPods}, {"Percent", PolicyType::kPercent}};
constexpr std::pair<std::string_view, PodPhase> kPhases[] = {{"Pending", PodPhase::kPending},
                                                             {"Running", PodPhase::kRunning},
                                                             {"Succeeded", PodPhase::kSucceeded},
                                                             {"Failed", PodPhase::kFailed},
                                                             {"Unknown", PodPhase::kUnknown}};

std::string_view Text(const json::value& value) { return value.as_string(); }
int32_t Int(const json::value& value) { return value.to_number<int32_t>(); }
int64_t Long(const json::value& value) { return value.to_number<int64_t>(); }

/// Go writes an absent list as null.
const json::array& List(const json::value& value) {
  static const json::array kEmpty;
  return value.is_null() ? kEmpty : value.as_array();
}

/// The situation's own zero lies well after the epoch, so that earlier moments exist too.
base::WallTime At(int64_t ms) {
  return base::WallTime(std::chrono::hours(24 * 365)) + std::chrono::milliseconds(ms);
}

ScalingRules ParseRules(const json::value& rules) {
  ScalingRules out;
  const int32_t window = Int(rules.at("window"));
  if (window >= 0) out.stabilization_window_seconds = window;
  out.select = ParseName(Text(rules.at("select")), kSelectPolicies);
  const int64_t tolerance = Long(rules.at("tolerance_milli"));
  if (tolerance >= 0) out.tolerance = static_cast<double>(tolerance) / 1000.0;
  for (const json::value& policy : List(rules.at("policies"))) {
    out.policies.push_back({ParseName(Text(policy.at("type")), kPolicyTypes),
                            Int(policy.at("value")), Int(policy.at("period"))});
  }
  return out;
}

HpaSpec ParseSpec(const json::value& spec) {
  HpaSpec out{.min_replicas = Int(spec.at("min")),
              .max_replicas = Int(spec.at("max")),
              .metrics = {},
              .behavior = std::nullopt};
  for (const json::value& metric : List(spec.at("metrics"))) {
    out.metrics.push_back({ParseName(Text(metric.at("type")), kMetricTypes),
                           ParseName(Text(metric.at("target_type")), kTargetTypes),
                           Long(metric.at("target")), std::string(Text(metric.at("name")))});
  }
  if (!spec.at("up").is_null()) {
    out.behavior = Behavior{ParseRules(spec.at("up")), ParseRules(spec.at("down"))};
  }
  return out;
}

Pod ParsePod(const json::value& pod) {
  Pod out{.name = std::string(Text(pod.at("name"))),
          .phase = ParseName(Text(pod.at("phase")), kPhases),
          .deleting = pod.at("deleting").as_bool(),
          .ready = std::nullopt,
          .ready_since = At(Long(pod.at("ready_ms"))),
          .started = std::nullopt};
  if (!Text(pod.at("ready")).empty()) out.ready = Text(pod.at("ready")) == "True";
  if (Long(pod.at("start_ms")) != -1) out.started = At(Long(pod.at("start_ms")));
  return out;
}

MetricAnswer ParseAnswer(const json::value& answer, const json::array& pods) {
  MetricAnswer out;
  for (const json::value& pod : pods) {
    const int64_t request = Long(pod.at("request"));
    if (request >= 0) out.requests_milli[std::string(Text(pod.at("name")))] = request;
  }
  if (answer.at("error").as_bool()) out.error = "no such metric";
  for (const json::value& sample : List(answer.at("pods"))) {
    out.by_pod[std::string(Text(sample.at("pod")))] = {
        Long(sample.at("value")), At(Long(sample.at("time_ms"))),
        std::chrono::seconds(Long(sample.at("window_ms")) / 1000)};
  }
  for (const json::value& value : List(answer.at("values"))) out.values.push_back(Long(value));
  return out;
}

/// The three conditions as they stand after a sync; some syncs leave some of them alone.
struct Conditions {
  std::string able, active, limited, reason;

  void Apply(const Decision& decision) {
    able = "SucceededGetScale";
    if (decision.normalized) {
      able = StabilizationName(decision.normalized->stabilization);
      limited = LimitName(decision.normalized->limit);
    }
    if (decision.rescaled) able = "SucceededRescale";
    if (!decision.active_reason.empty()) active = decision.active_reason;
    constexpr std::string_view kReasons[] = {"",
                                             "Current number of replicas above Spec.MaxReplicas",
                                             "Current number of replicas below Spec.MinReplicas",
                                             "above target", "All metrics below target"};
    reason = kReasons[static_cast<size_t>(decision.reason)];
  }
};

/// Replays one situation; returns the number of syncs compared.
int Replay(const json::value& situation) {
  const HpaSpec spec = ParseSpec(situation.at("spec"));
  Autoscaler autoscaler(ControllerOptions{
      .downscale_stabilization = std::chrono::seconds(Long(situation.at("downscale_ms")) / 1000),
      .scale_to_zero = situation.at("scale_to_zero").as_bool()});
  int32_t replicas = Int(situation.at("initial_replicas"));
  Conditions have;
  int compared = 0;
  for (const json::value& step : List(situation.at("steps"))) {
    if (Int(step.at("set_replicas")) >= 0) replicas = Int(step.at("set_replicas"));
    Observation seen{.spec_replicas = replicas,
                     .status_replicas = Int(step.at("status_replicas")),
                     .pods = {},
                     .answers = {},
                     .selector_fault = step.at("no_selector").as_bool() ? "InvalidSelector" : ""};
    for (const json::value& pod : List(step.at("pods"))) seen.pods.push_back(ParsePod(pod));
    for (const json::value& a : List(step.at("answers"))) {
      seen.answers.push_back(ParseAnswer(a, List(step.at("pods"))));
    }
    const Decision decision = autoscaler.Reconcile(spec, seen, At(Long(step.at("now_ms"))));
    replicas = decision.replicas;
    have.Apply(decision);
    const json::value& want = step.at("result");
    EXPECT_EQ(replicas, Int(want.at("replicas")));
    EXPECT_EQ(decision.rescaled, want.at("rescaled").as_bool());
    EXPECT_EQ(have.able, Text(want.at("able")));
    EXPECT_EQ(have.active, Text(want.at("active")));
    EXPECT_EQ(have.limited, Text(want.at("limited")));
    EXPECT_EQ(have.reason, Text(want.at("reason")));
    ++compared;
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "at sync " << compared << " of " << json::serialize(situation);
      return compared;
    }
  }
  return compared;
}

TEST(ControllerVectorsTest, EverySyncDecidesAsTheRealController) {
  const char* given = std::getenv("HPA_VECTORS");  // NOLINT(concurrency-mt-unsafe)
  const std::string path = given != nullptr ? given : HPA_RECORDED_VECTORS;
  std::ifstream file(path);
  ASSERT_TRUE(file) << "cannot read " << path;
  int situations = 0;
  int syncs = 0;
  for (std::string line; std::getline(file, line) && !HasFailure();) {
    syncs += Replay(json::parse(line));
    ++situations;
  }
  EXPECT_GE(situations, 50) << path;
  RecordProperty("situations", situations);
  RecordProperty("syncs", syncs);
  std::cout << situations << " situations, " << syncs << " syncs agree\n";
}

}  // namespace
}  // namespace activescale::hpa
