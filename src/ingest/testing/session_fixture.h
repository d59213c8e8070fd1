#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/testing/fake_clock.h"
#include "ingest/stream_session.h"
#include "ingest/testing/envoy_message.h"
#include "kube/envoy_pod_index.h"
#include "store/embedded_store.h"

namespace activescale::ingest {

inline constexpr char kInbound[] = "http.inbound_0.0.0.0_8080;.downstream_rq_active";
inline constexpr char kOutbound[] = "http.outbound_0.0.0.0_8080;.downstream_rq_active";
inline constexpr char kListener[] = "listener.0.0.0.0_8080.downstream_cx_active";

/// What pushes: streams over one store, with a clock that the test moves.
class SessionFixture : public testing::Test {
 protected:
  explicit SessionFixture(IngestOptions options = {})
      : ingest_(std::move(options), store_, &pods_, clock_, registry_) {}

  std::shared_ptr<StreamSession> Open() { return StreamSession::Open(ingest_, "10.0.0.9:4711"); }

  base::Result<void> Send(StreamSession& stream, const EnvoyMessage& message) {
    return SendBytes(stream, message.Bytes());
  }
  base::Result<void> SendBytes(StreamSession& stream, const std::string& bytes) {
    const std::vector<std::string_view> slices = {bytes};
    return stream.OnMessage(scanner_, slices);
  }

  /// How long the tick at the end of it says to wait for the next one.
  std::chrono::nanoseconds Pass(std::chrono::milliseconds time) {
    clock_.Advance(time);
    return ingest_.Tick(clock_.Now());
  }

  /// What the pod's three metrics are: "3 zero 12" or "missing missing missing".
  std::string Say(const std::string& ns, const std::string& pod) {
    std::string text;
    for (size_t i = 0; i < metric::kMetricKindCount; ++i) {
      store_.Read({{ns, pod}}, static_cast<metric::MetricKind>(i),
                  [&](const base::Result<store::ReadResult>& result) {
                    const store::PodReading& reading = result->readings[0];
                    text += i == 0 ? "" : " ";
                    text += reading.state == store::PodReading::State::kMissing ? "missing"
                            : reading.state == store::PodReading::State::kSynthesizedZero
                                ? "zero"
                                : reading.value.ToString();
                  });
    }
    return text;
  }

  base::FakeClock clock_;
  telemetry::Registry registry_;
  store::EmbeddedStore store_{{.ttl = std::chrono::seconds(20)}, clock_, registry_};
  kube::EnvoyPodIndex pods_{std::chrono::seconds(60), clock_};
  Ingest ingest_;
  IngestMetrics& metrics_ = ingest_.metrics();
  WireScanner scanner_;
};

}  // namespace activescale::ingest
