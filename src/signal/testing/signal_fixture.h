#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/unix_time.h"
#include "promql/testing/fixed_source.h"
#include "signal/catalogue.h"
#include "signal/evaluator.h"
#include "signal/reading.h"
#include "signal/window_reader.h"
#include "telemetry/registry.h"

namespace activescale::signal {

/// Signals over series that a test writes, for those who read signals. All windows are whole,
/// unless the test says otherwise.
class SignalFixture {
 public:
  SignalFixture(const base::Clock& clock, telemetry::Registry& registry)
      : clock_(clock), reader_(evaluator_, registry) {}

  /// A sample of now.
  void Set(const std::string& name, std::vector<metric::Labels::Entry> labels, double value) {
    labels.emplace_back("__name__", name);
    source_.Add(metric::Labels(std::move(labels)), {{base::UnixMsNow(clock_), value}});
  }
  void Configure(const std::string& yaml) {
    auto parsed = Catalogue::Parse(yaml, promql::Dialect::kPrometheus3);
    ASSERT_TRUE(parsed) << parsed.error().message;
    catalogue_ = std::make_shared<const Catalogue>(*std::move(parsed));
  }
  /// Every evaluation that reads a series fails from now on.
  void Break(std::string fault) { source_.set_error({base::Code::kUnavailable, std::move(fault)}); }
  void SetObservedSince(int64_t time_ms) { source_.set_observed_since(time_ms); }

  [[nodiscard]] const SignalReader& reader() const { return reader_; }
  [[nodiscard]] const WindowReader& windows() const { return windows_; }
  [[nodiscard]] std::shared_ptr<const Catalogue> catalogue() const { return catalogue_; }

 private:
  const base::Clock& clock_;
  promql::FixedSource source_;
  Evaluator evaluator_{{}, source_, nullptr, clock_};
  WindowReader windows_{source_, clock_};
  SignalReader reader_;
  std::shared_ptr<const Catalogue> catalogue_ = std::make_shared<const Catalogue>();
};

}  // namespace activescale::signal
