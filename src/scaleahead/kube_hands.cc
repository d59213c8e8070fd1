#include "scaleahead/kube_hands.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/log.h"

namespace activescale::scaleahead {
namespace {

namespace json = boost::json;

constexpr std::string_view kController = "activescale.io/scale-ahead";
/// A step that takes longer has no point any more: the controller syncs meanwhile.
constexpr std::chrono::milliseconds kStepTimeout{2'000};
/// What the API takes as a note. Source: kubernetes/api:events/v1/types.go.
constexpr size_t kMaxNote = 1024;

StepOutcome OutcomeOf(const kube::ApiError& error) {
  switch (error.http_status) {
    case 409:
      return StepOutcome::kConflict;
    case 401:
    case 403:
      return StepOutcome::kForbidden;
    case 404:
      return StepOutcome::kGone;
    case 0:
    case 429:
      return StepOutcome::kAway;
    default:
      return error.http_status >= 500 ? StepOutcome::kAway : StepOutcome::kRefused;
  }
}

/// metav1.MicroTime.
std::string MicroTime(base::WallTime time) {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch());
  const auto whole = std::chrono::floor<std::chrono::seconds>(micros);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", std::chrono::sys_seconds(whole),
                     (micros - whole).count());
}

}  // namespace

KubeHands::KubeHands(Options options, kube::ApiClient& api, const base::Clock& clock,
                     telemetry::Registry& registry)
    : options_(std::move(options)),
      api_(api),
      clock_(clock),
      lost_events_(registry.AddCounter("activescale_scale_ahead_lost_events_total",
                                       "Events about HPAs that the API server did not take.")) {}

void KubeHands::Scale(const Step& step, std::move_only_function<void(StepResult)> done) {
  const json::object body{{"metadata", {{"resourceVersion", step.resource_version}}},
                          {"spec", {{"replicas", step.replicas}}}};
  api_.Send({.method = "PATCH",
             .path = fmt::format("/apis/apps/v1/namespaces/{}/{}/{}/scale?fieldManager={}", step.ns,
                                 step.resource, step.name, kFieldManager),
             .content_type = "application/merge-patch+json",
             .body = json::serialize(body),
             .timeout = kStepTimeout},
            [done = std::move(done)](kube::ApiResult<json::object> answer) mutable {
              if (answer) return done({});
              done({OutcomeOf(answer.error()), std::move(answer.error().error.message),
                    answer.error().retry_after});
            });
}

void KubeHands::Tell(const kube::HpaObject& hpa, const Notice& notice) {
  const json::object event{
      {"apiVersion", "events.k8s.io/v1"},
      {"kind", "Event"},
      {"metadata", {{"namespace", hpa.ns}, {"generateName", hpa.name.substr(0, 200) + "-"}}},
      {"eventTime", MicroTime(clock_.WallNow())},
      {"reportingController", kController},
      {"reportingInstance", options_.instance.empty() ? "activescale" : options_.instance},
      {"action", "ScaleAhead"},
      {"reason", notice.reason},
      {"regarding",
       {{"apiVersion", "autoscaling/v2"},
        {"kind", "HorizontalPodAutoscaler"},
        {"namespace", hpa.ns},
        {"name", hpa.name},
        {"uid", hpa.uid}}},
      {"note", notice.note.substr(0, kMaxNote)},
      {"type", notice.warning ? "Warning" : "Normal"}};
  api_.Send({.method = "POST",
             .path = fmt::format("/apis/events.k8s.io/v1/namespaces/{}/events", hpa.ns),
             .content_type = "application/json",
             .body = json::serialize(event)},
            [this](const kube::ApiResult<json::object>& answer) {
              if (answer) return;
              lost_events_.Increment();
              if (!event_warning_.Pass(clock_.Now())) return;
              LOG_WARNING("an event about an HPA is lost: {}", answer.error().error.message);
            });
}

}  // namespace activescale::scaleahead
