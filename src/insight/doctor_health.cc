#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

#include "insight/doctor.h"

namespace activescale::insight {
namespace {

constexpr double kSkewSeconds = 5;
constexpr double kExpirySoonSeconds = 7 * 24 * 3600.0;

/// Calls `use` with each line.
template <typename Use>
void ForLines(std::string_view text, Use use) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// The checks of /readyz?verbose whose line has `mark`, as "name: reason"; `word` is what stands
/// between the two.
std::vector<std::string> Checks(std::string_view readyz, std::string_view mark,
                                std::string_view word) {
  std::vector<std::string> out;
  ForLines(readyz, [&](std::string_view line) {
    // An answer that was refused has words of the API server before the list.
    const size_t at = line.find(mark);
    if (at == std::string_view::npos) return;
    std::string text(line.substr(at + mark.size()));
    if (const size_t found = text.find(word); found != std::string::npos) {
      text.erase(found, word.size());
    }
    out.push_back(std::move(text));
  });
  return out;
}

/// Checks that keep a replica ready which cannot answer: --readiness-on-store-outage.
std::vector<std::string> DegradedChecks(std::string_view readyz) {
  std::vector<std::string> out = Checks(readyz, "[+]", " ok");
  std::erase_if(out, [](const std::string& check) {
    return check.find(": degraded: ") == std::string::npos;
  });
  return out;
}

/// What the counters of one replica say.
class HealthReading {
 public:
  HealthReading(const ReplicaHealth& health, const Samples& samples)
      : check_(fmt::format("streams of {}", health.replica)),
        asked_at_(health.asked_at),
        samples_(samples) {}

  Findings Run();

 private:
  [[nodiscard]] double Of(std::string_view series) const {
    const auto found = samples_.find(series);
    return found == samples_.end() ? 0 : found->second;
  }
  /// Adds a finding if the series has a value above 0; `message` is a format for it.
  void Tell(Level level, std::string_view series, std::string_view message, std::string advice) {
    const double value = Of(series);
    if (value > 0) {
      findings_.push_back(
          {level, check_, fmt::format(fmt::runtime(message), value), std::move(advice)});
    }
  }
  void TellStreams();
  void TellDrops();
  void TellClock();
  void TellCertificate();

  const std::string check_;
  const base::WallTime asked_at_;
  const Samples& samples_;
  Findings findings_;
};

void HealthReading::TellStreams() {
  const double messages = Of("activescale_ingest_messages_total");
  if (messages == 0) {
    findings_.push_back({Level::kWarning, check_, "no Envoy has pushed to it since it started",
                         "configure the sink (deploy/istio, deploy/envoy); look at DNS, "
                         "NetworkPolicies and mutual TLS on the push port"});
    return;
  }
  if (Of("activescale_ingest_stored_metrics_total") == 0 &&
      Of("activescale_ingest_dropped_by_ids_total") < messages) {
    // Envoy does not send what it never counted, so an idle mesh looks the same.
    findings_.push_back({Level::kWarning, check_,
                         "Envoys push, and not one of the stats that count is among what they "
                         "send: stats are not included, or no request has come to any of them yet",
                         "set proxyStatsMatcher (deploy/istio), or --inbound-stat-prefixes if they "
                         "have other names"});
  }
  Tell(Level::kFailure, "activescale_ingest_slow_streams",
       "{:g} open streams flush so seldom that the TTL is below three flush intervals: one late "
       "flush makes a pod missing",
       "raise --ttl (METRIC_TTL) or lower Envoy's stats_flush_interval");
}

void HealthReading::TellDrops() {
  Tell(Level::kWarning, "activescale_ingest_dropped_by_ids_total{reason=\"no_node\"}",
       "{:g} messages told no pod since it started: node.metadata lacks NAME and NAMESPACE",
       "set them as in deploy/envoy/bootstrap.yaml");
  Tell(Level::kWarning, "activescale_ingest_dropped_by_ids_total{reason=\"wrong_cluster\"}",
       "{:g} messages came from Envoys of another CLUSTER_ID since it started",
       "correct --cluster-id");
  Tell(Level::kWarning, "activescale_ingest_peer_checks_total{result=\"mismatch\"}",
       "{:g} streams since it started came from another address than that of the pod they claim to "
       "be",
       "look for an Envoy with a copied node, or a proxy in between");
  Tell(Level::kWarning, "activescale_store_dropped_writes_total",
       "the store did not take {:g} writes since it started",
       "see activescale_store_dropped_writes_total by reason");
  Tell(Level::kFailure, "activescale_other_ready_replicas_without_shared_store",
       "{:g} other ready replicas and no shared store: each knows only the pods whose streams it "
       "holds",
       "run one replica, or give all of them a Redis (REDIS_ADDR)");
}

void HealthReading::TellClock() {
  const double skew = Of("activescale_ingest_sender_clock_skew_seconds");
  if (std::abs(skew) < kSkewSeconds) return;
  findings_.push_back({Level::kWarning, check_,
                       fmt::format("clock skew: a sender's clock is {:.0f} s {} ours; freshness "
                                   "goes by our own clock, but certificates and other timestamps "
                                   "do not",
                                   std::abs(skew), skew > 0 ? "ahead of" : "behind"),
                       "synchronise the nodes' clocks (NTP)"});
}

void HealthReading::TellCertificate() {
  const double expiry = Of("activescale_serving_certificate_expiry_seconds");
  const double now = std::chrono::duration<double>(asked_at_.time_since_epoch()).count();
  const double left = expiry - now;
  if (expiry > 0 && left < kExpirySoonSeconds) {
    findings_.push_back(
        {left < 0 ? Level::kFailure : Level::kWarning, check_,
         left < 0 ? std::string("its serving certificate has expired")
                  : fmt::format("its serving certificate expires in {:.1f} days", left / 86400),
         "renew the files of --tls-cert-file; a new pair is taken up within a minute"});
  }
  Tell(Level::kWarning, "activescale_serving_certificate_reloads_total{result=\"failed\"}",
       "{:g} times since it started a changed certificate could not be taken up, and the old one "
       "stayed",
       "tls.crt and tls.key must belong together; the log names the fault");
}

Findings HealthReading::Run() {
  TellStreams();
  TellDrops();
  TellClock();
  TellCertificate();
  if (WorstOf(findings_) == Level::kOk) {
    findings_.push_back(
        {Level::kOk,
         check_,
         fmt::format("{:g} open, {:g} messages, {:g} values stored",
                     Of("activescale_ingest_open_streams"), Of("activescale_ingest_messages_total"),
                     Of("activescale_ingest_stored_metrics_total")),
         {}});
  }
  return std::move(findings_);
}

}  // namespace

std::vector<std::string> FailedChecks(std::string_view readyz) {
  return Checks(readyz, "[-]", " failed");
}

Samples ReadSamples(std::string_view text) {
  Samples out;
  ForLines(text, [&](std::string_view line) {
    const size_t space = line.rfind(' ');
    if (line.starts_with('#') || space == std::string_view::npos) return;
    const std::string_view series = line.substr(0, space);
    double value = 0;
    const auto [end, fault] =
        std::from_chars(line.data() + space + 1, line.data() + line.size(), value);
    if (fault != std::errc() || end != line.data() + line.size()) return;
    const size_t brace = series.find('{');
    out[std::string(series.substr(0, brace))] += value;
    if (brace != std::string_view::npos) out[std::string(series)] += value;
  });
  return out;
}

Findings DiagnoseHealth(const ReplicaHealth& health) {
  Findings out;
  const std::string check = fmt::format("replica {}", health.replica);
  if (!health.readyz) {
    out.push_back({Level::kWarning, check,
                   fmt::format("its /readyz cannot be read: {}", health.readyz.error().message),
                   "allow get on pods/proxy, or forward its health port and give "
                   "--health-address=127.0.0.1:18080"});
  } else if (const auto failed = FailedChecks(*health.readyz); !failed.empty()) {
    out.push_back({Level::kFailure, check, fmt::format("is not ready: {}", fmt::join(failed, "; ")),
                   "docs/troubleshooting.md and docs/operations.md tell each check"});
  } else if (const auto degraded = DegradedChecks(*health.readyz); !degraded.empty()) {
    out.push_back({Level::kFailure, check,
                   fmt::format("is ready, and reads fail: {}", fmt::join(degraded, "; ")),
                   "mend the store: docs/store.md; until then HPAs keep their replicas"});
  } else if (!health.readyz->contains("[+]")) {
    out.push_back({Level::kFailure, check, "what answers to /readyz there is no activescale",
                   "give the address of --health-port, 18080 by default"});
    return out;
  } else {
    out.push_back({Level::kOk, check, "is ready", {}});
  }
  if (health.metrics) {
    Findings read = HealthReading(health, *health.metrics).Run();
    out.insert(out.end(), read.begin(), read.end());
  }
  return out;
}

}  // namespace activescale::insight
