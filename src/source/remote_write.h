#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "net/http_types.h"
#include "series/series_store.h"
#include "source/append_metrics.h"
#include "telemetry/registry.h"

namespace io::prometheus::write::v1 {
class TimeSeries;
}  // namespace io::prometheus::write::v1

namespace activescale::source {

/// Takes what a Prometheus sends by remote_write 1.0 into the series that somebody asks for. A
/// request is taken as a whole or, when its bytes are broken, not at all. Samples that the store
/// refuses are counted and the answer is still a yes: the sender would only repeat them.
/// Source: prometheus.io/docs/specs/prw/remote_write_spec.
/// Threads: any, after SetListener.
class RemoteWrite final : public net::HttpHandler {
 public:
  /// Of a request, and of it without compression.
  static constexpr size_t kMaxBodyBytes = size_t{16} << 20;
  static constexpr size_t kMaxPlainBytes = size_t{32} << 20;
  /// Of one series in it: a few bytes can stand for a large object.
  static constexpr size_t kMaxSeriesBytes = size_t{1} << 20;

  /// Both must outlive this.
  RemoteWrite(series::SeriesStore& series, telemetry::Registry& registry);

  /// Serves every path that ends with /api/v1/write.
  void Handle(net::HttpRequest request, net::HttpResponder respond) override;
  [[nodiscard]] net::HttpResponse Answer(const net::HttpRequest& request);

  /// `listener` gets what this process was sent and recorded, as uncompressed messages of at most
  /// kMaxToldBytes and a series, on the thread that brought it. Call before anything is taken.
  void SetListener(std::function<void(std::string message)> listener) {
    listener_ = std::move(listener);
  }
  static constexpr size_t kMaxToldBytes = size_t{256} << 10;

  /// Takes an uncompressed message without telling the listener: what another replica was sent;
  /// also for the fuzzer. Errors: kInvalidArgument: it is none, or a
  /// series in it has no name or broken labels, which alone are left out then.
  [[nodiscard]] base::Result<void> Take(std::string_view message) { return Take(message, false); }

 private:
  enum Result : uint8_t { kTaken, kNotFound, kEncoding, kTooLarge, kMalformed, kResults };

  net::HttpResponse Count(Result result, std::string_view message);
  [[nodiscard]] base::Result<void> Take(std::string_view message, bool tell);
  /// True if samples were stored. Nothing if the labels cannot be used.
  std::optional<bool> Append(const io::prometheus::write::v1::TimeSeries& series);

  series::SeriesStore& series_;
  std::array<telemetry::Counter*, kResults> requests_{};
  const AppendCounters samples_;
  telemetry::Counter& invalid_;
  std::function<void(std::string)> listener_;
};

}  // namespace activescale::source
