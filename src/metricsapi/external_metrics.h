#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "metric/selector.h"
#include "metricsapi/discovery.h"
#include "metricsapi/request_target.h"
#include "net/http_types.h"
#include "signal/catalogue.h"
#include "signal/reading.h"
#include "signal/standing_moments.h"

namespace activescale::metricsapi {

inline constexpr std::string_view kExternalMetricsGroup = "external.metrics.k8s.io";

/// A read of the External Metrics API: one signal as a namespace sees it.
struct ExternalMetricsQuery {
  std::string ns;
  std::string name;
  metric::Selector selector;  // on the labels of the values
};

/// Reads a query from /apis/external.metrics.k8s.io/v1beta1/... Errors: kInvalidArgument for a bad
/// selector; kNotFound for a path of another form.
[[nodiscard]] base::Result<ExternalMetricsQuery> ParseExternalMetricsQuery(
    const RequestTarget& target);

/// What its answers may stand still by: signal::StandingMoments.
[[nodiscard]] std::string QuestionOf(const ExternalMetricsQuery& query);

/// Answers reads of the External Metrics API by evaluating signals. One item for each series whose
/// labels match; the HPA adds them up. No value is a 404 with the cause, never 0 and never an empty
/// list, which the HPA would add up to 0.
class ExternalMetrics {
 public:
  using Signals = std::function<std::shared_ptr<const signal::Catalogue>()>;
  /// Runs work on a thread where evaluations hold nobody else up.
  using Post = std::function<void(std::move_only_function<void()>)>;

  /// All of them must outlive this and every answer.
  ExternalMetrics(Signals signals, const signal::SignalReader& reader,
                  const signal::StandingMoments& moments, Post post, const base::Clock& clock)
      : signals_(std::move(signals)),
        reader_(reader),
        moments_(moments),
        post_(std::move(post)),
        clock_(clock) {}

  /// Threads: any; `respond` runs where `post` runs work.
  void Read(ExternalMetricsQuery query, net::HttpResponder respond) const;

  /// At least one reading, or why there is none.
  using Answered = std::move_only_function<void(base::Result<std::vector<signal::Reading>>)>;
  /// The newest values as numbers, whatever stands. Threads: as Read.
  void ReadValues(ExternalMetricsQuery query, Answered done) const;

  /// For discovery: a resource a signal, and one that stands for none where there is none.
  [[nodiscard]] ApiGroup Group() const;

 private:
  [[nodiscard]] base::Result<std::vector<signal::Reading>> Evaluate(
      const ExternalMetricsQuery& query, std::optional<int64_t> at_ms) const;
  [[nodiscard]] net::HttpResponse Answer(const ExternalMetricsQuery& query) const;

  const Signals signals_;
  const signal::SignalReader& reader_;
  const signal::StandingMoments& moments_;
  const Post post_;
  const base::Clock& clock_;
};

}  // namespace activescale::metricsapi
