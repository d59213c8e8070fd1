#include "signal/evaluator.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/unix_time.h"

namespace activescale::signal {
namespace {

/// The series of a scope, as long as the telemetry behind them is sound.
class ScopedSource final : public series::SeriesSource {
 public:
  ScopedSource(series::SeriesSource& series, const Telemetry* telemetry,
               std::optional<series::Matcher> condition)
      : series_(series), telemetry_(telemetry), condition_(std::move(condition)) {}

  base::Result<series::Selection> Select(const series::Matchers& matchers, int64_t min_ms,
                                         int64_t max_ms) override {
    if (!condition_) return Checked(matchers, min_ms, max_ms);
    series::Matchers all = matchers;
    all.push_back(*condition_);
    return Checked(all, min_ms, max_ms);
  }

 private:
  /// Selects first: that also begins the recording, so that there is something when it is sound.
  base::Result<series::Selection> Checked(const series::Matchers& matchers, int64_t min_ms,
                                          int64_t max_ms) {
    auto selection = series_.Select(matchers, min_ms, max_ms);
    if (!selection || telemetry_ == nullptr) return selection;
    if (auto sound = telemetry_->Check(matchers); !sound) {
      return std::unexpected(std::move(sound.error()));
    }
    return selection;
  }

  series::SeriesSource& series_;
  const Telemetry* const telemetry_;
  const std::optional<series::Matcher> condition_;
};

}  // namespace

base::Result<promql::QueryResult> Evaluator::Evaluate(const promql::Expr& expr,
                                                      const promql::EvaluationTime& time,
                                                      const Scope& scope) const {
  std::optional<series::Matcher> condition;
  if (!scope.ns.empty()) {
    auto made = series::Matcher::Make(series::Matcher::Op::kEqual, "namespace", scope.ns);
    if (!made) return std::unexpected(std::move(made.error()));
    condition = *std::move(made);
  }
  ScopedSource source(series_, telemetry_, std::move(condition));
  promql::EngineOptions options = options_;
  options.timeout = std::min(options.timeout, scope.timeout);
  auto result = promql::Engine(options, source, clock_).Evaluate(expr, time);
  if (result && !result->whole && scope.partial_window == PartialWindow::kMissing) {
    return base::Fail(base::Code::kNotFound,
                      "the window has not been observed whole yet: its recording began after it "
                      "did; ask again when the range has passed, or allow a partial window");
  }
  return result;
}

base::Result<promql::QueryResult> Evaluator::EvaluateNow(const promql::Expr& expr,
                                                         const Scope& scope) const {
  const int64_t at_ms = scope.at_ms ? *scope.at_ms : base::UnixMsNow(clock_);
  return Evaluate(expr, promql::EvaluationTime::At(at_ms), scope);
}

}  // namespace activescale::signal
