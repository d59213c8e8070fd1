#include "insight/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace activescale::insight {
namespace {

using base::Code;
using base::Fail;

constexpr std::string_view kCounters =
    "# TYPE activescale_ingest_messages_total counter\n"
    "activescale_ingest_messages_total 100\n"
    "activescale_ingest_stored_metrics_total 90\n"
    "activescale_ingest_open_streams 2\n"
    "activescale_ingest_dropped_by_ids_total{reason=\"no_node\"} 0\n"
    "activescale_serving_certificate_expiry_seconds 9e9\n";

ApiService Ours() {
  return {.owner = "ns-observability/activescale",
          .has_ca = true,
          .insecure = false,
          .available = true,
          .reason = "Passed",
          .message = "all checks passed"};
}

ReplicaHealth Health(std::string_view more = {}) {
  return {.replica = "activescale-0",
          .asked_at = base::WallTime(std::chrono::seconds(1'800'000'000)),
          .readyz = std::string("[+]store ok: 2 pods\nreadyz check passed\n"),
          .metrics = ReadSamples(std::string(kCounters) + std::string(more))};
}

WorkloadPod Pod(std::string name) {
  WorkloadPod pod{.name = std::move(name), .owner = "Deployment/web"};
  pod.sidecar.present = true;
  pod.sidecar.settings.sink = "activescale-grpc.ns-observability:9000";
  pod.sidecar.settings.stats.suffixes = {"downstream_rq_active"};
  return pod;
}

WorkloadFacts Workload() {
  WorkloadFacts facts;
  kube::HpaObject& hpa = facts.snapshot.hpa;
  hpa.ns = "shop";
  hpa.name = "web";
  hpa.target = {.api_version = "apps/v1", .kind = "Deployment", .name = "web"};
  hpa.spec.metrics = {{.name = "inbound_active_requests"}};
  hpa.sources = {{}};
  hpa.conditions = {{"AbleToScale", "True", "ReadyForNewScale", "fine", "noon"},
                    {"ScalingActive", "True", "ValidMetricFound", "fine", "noon"}};
  facts.snapshot.seen.spec_replicas = 2;
  facts.snapshot.seen.answers = {{}};
  facts.snapshot.denied = {false};
  facts.pods = {Pod("web-0"), Pod("web-1")};
  facts.values = {
      {"inbound_active_requests", std::map<std::string, int64_t>{{"web-0", 3000}, {"web-1", 2000}}},
      {"outbound_active_requests", std::map<std::string, int64_t>{{"web-0", 0}, {"web-1", 0}}},
      {"active_connections", std::map<std::string, int64_t>{{"web-0", 0}, {"web-1", 0}}}};
  return facts;
}

/// A cluster in which all is well.
DoctorFacts Healthy() {
  InstallFacts install{
      .service = "ns-observability/activescale",
      .custom = {{"v1beta2", Ours()}, {"v1beta1", Ours()}},
      .external = Fail(Code::kNotFound, "none"),
      .rights = {{"list pods", "no metric can be read", true, true},
                 {"list services", "no Object metrics of a Service", false, true}},
      .push = PushService{.headless = true, .selects_replicas = true},
      .replicas = std::vector<Replica>{{.pod = "activescale-0", .ready = true, .state = {}}},
      .settings = {},
      .health = {Health()}};
  return {.server = "https://10.0.0.1",
          .version = "Kubernetes v1.36.3",
          .install = std::move(install),
          .workload = Workload(),
          .hpa = "shop/web",
          .load = ControllerLoad{.autoscalers = 3, .custom_reads = 3, .qps = std::nullopt}};
}

std::string FirstProblem(const Findings& findings) {
  const auto found = std::ranges::find_if(
      findings, [](const Finding& finding) { return finding.level != Level::kOk; });
  return found == findings.end() ? "" : found->check + ": " + found->message;
}

TEST(DoctorTest, AHealthyClusterHasNoProblem) {
  const Findings findings = Diagnose(Healthy());
  EXPECT_EQ(FirstProblem(findings), "");
  EXPECT_NE(FindingsText(findings).find("0 failures, 0 warnings"), std::string::npos);
}

struct Case {
  const char* name;
  Level level;
  const char* problem;  // part of the first one
  std::function<void(DoctorFacts&)> breaking;
};

class BrokenClusterTest : public testing::TestWithParam<Case> {};

TEST_P(BrokenClusterTest, FirstProblemNamesTheCause) {
  const Case& broken = GetParam();
  DoctorFacts facts = Healthy();
  broken.breaking(facts);
  const Findings findings = Diagnose(facts);
  EXPECT_EQ(WorstOf(findings), broken.level);
  EXPECT_NE(FirstProblem(findings).find(broken.problem), std::string::npos)
      << FindingsText(findings);
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.advice.empty(), finding.level == Level::kOk) << finding.message;
  }
}

std::function<void(DoctorFacts&)> Unavailable(std::string message, bool has_ca = true) {
  return [message = std::move(message), has_ca](DoctorFacts& facts) {
    ApiService service = Ours();
    service.available = false;
    service.has_ca = has_ca;
    service.reason = "FailedDiscoveryCheck";
    service.message = message;
    for (ApiServiceFact& fact : facts.install->custom) fact.found = service;
  };
}

std::function<void(DoctorFacts&)> OfHealth(const char* counter) {
  return [counter](DoctorFacts& facts) { facts.install->health = {Health(counter)}; };
}

/// Changes the facts of the workload.
std::function<void(DoctorFacts&)> OfWorkload(std::function<void(WorkloadFacts&)> breaking) {
  return [breaking = std::move(breaking)](DoctorFacts& facts) { breaking(**facts.workload); };
}

void SilencePods(WorkloadFacts& facts) {
  for (auto& [metric, values] : facts.values) {
    values = Fail(Code::kNotFound, "no fresh telemetry");
  }
  facts.snapshot.seen.answers[0].error = "no fresh telemetry";
}

INSTANTIATE_TEST_SUITE_P(
    Install, BrokenClusterTest,
    testing::Values(
        Case{"NoCluster", Level::kFailure, "cluster: connection refused",
             [](DoctorFacts& facts) {
               facts.version = Fail(Code::kUnavailable, "connection refused");
             }},
        Case{"NotInstalled", Level::kFailure, "there are none, so no HPA can read",
             [](DoctorFacts& facts) {
               for (auto& fact : facts.install->custom) fact.found = Fail(Code::kNotFound, "none");
             }},
        Case{"TwoOwners", Level::kFailure, "it belongs to monitoring/prometheus-adapter",
             [](DoctorFacts& facts) {
               facts.install->custom[1].found->owner = "monitoring/prometheus-adapter";
             }},
        Case{"WrongCa", Level::kFailure, "wrong CA: caBundle is not of the authority",
             Unavailable("Get \"https://x\": tls: x509: certificate signed by unknown authority")},
        Case{"NoCa", Level::kFailure, "wrong CA: there is no caBundle at all",
             Unavailable("x509: certificate signed by unknown authority", false)},
        Case{"Expired", Level::kFailure, "serving certificate has expired",
             Unavailable("x509: certificate has expired or is not yet valid")},
        Case{"RefusedPort", Level::kFailure, "the port is refused",
             Unavailable("dial tcp 10.0.0.9:443: connect: connection refused")},
        Case{"Firewall", Level::kFailure, "no answer from there",
             Unavailable("dial tcp 10.0.0.9:443: i/o timeout")},
        Case{"Unverified", Level::kWarning, "insecureSkipTLSVerify",
             [](DoctorFacts& facts) { facts.install->custom[0].found->insecure = true; }},
        Case{"MissingRbac", Level::kFailure, "it may not list pods: no metric can be read",
             [](DoctorFacts& facts) { facts.install->rights[0].allowed = false; }},
        Case{"MissingLesserRbac", Level::kWarning, "it may not list services",
             [](DoctorFacts& facts) { facts.install->rights[1].allowed = false; }},
        Case{"MayNotReview", Level::kWarning, "may not create reviews",
             [](DoctorFacts& facts) {
               facts.install->rights[0].allowed =
                   Fail(Code::kPermissionDenied, "may not create reviews");
             }},
        Case{"TwoReplicasNoStore", Level::kFailure, "2 ready replicas without a shared store",
             [](DoctorFacts& facts) {
               facts.install->replicas->push_back({.pod = "activescale-1", .ready = true});
             }},
        Case{"NoReplica", Level::kFailure, "ImagePullBackOff",
             [](DoctorFacts& facts) {
               *facts.install->replicas = {
                   {.pod = "a", .ready = false, .state = "ImagePullBackOff"}};
               Unavailable("no endpoints")(facts);
             }},
        Case{"SelectsNoReplica", Level::kFailure, "selector matches no pod",
             [](DoctorFacts& facts) { facts.install->replicas->clear(); }},
        Case{"NoService", Level::kFailure, "services not found",
             [](DoctorFacts& facts) {
               facts.install->replicas = Fail(Code::kNotFound, "services not found");
             }},
        Case{"PushServiceSelectsNothing", Level::kFailure, "nothing that Envoys push arrives",
             [](DoctorFacts& facts) { facts.install->push->selects_replicas = false; }},
        Case{"PushServiceNotHeadless", Level::kWarning, "not headless",
             [](DoctorFacts& facts) { facts.install->push->headless = false; }},
        Case{"RedisPassword", Level::kFailure,
             "is not ready: store: Redis says WRONGPASS; check the password",
             [](DoctorFacts& facts) {
               facts.install->health[0].readyz = std::string(
                   "the API server says 503: [+]shutdown ok: x\n[-]store failed: Redis says "
                   "WRONGPASS; check the password\nreadyz check failed\n");
               Unavailable("bad status")(facts);
             }},
        Case{"OneReplicaWithoutItsStore", Level::kFailure,
             "is ready, and reads fail: store: degraded: reads are 503; WRONGPASS",
             [](DoctorFacts& facts) {
               facts.install->health[0].readyz = std::string(
                   "[+]shutdown ok\n[+]store ok: degraded: reads are 503; WRONGPASS\n"
                   "readyz check passed\n");
             }},
        Case{"HealthNotReadable", Level::kWarning, "its /readyz cannot be read: forbidden",
             [](DoctorFacts& facts) {
               facts.install->health[0].readyz = Fail(Code::kPermissionDenied, "forbidden");
             }},
        Case{"SomethingElseAnswers", Level::kFailure, "there is no activescale",
             [](DoctorFacts& facts) { facts.install->health[0].readyz = std::string("ok\n"); }},
        Case{"TwoOwnersOfExternalMetrics", Level::kFailure, "it belongs to keda/adapter, and",
             [](DoctorFacts& facts) {
               facts.install->external = Ours();
               facts.install->external->owner = "keda/adapter";
               facts.install->settings.external_metrics = true;
             }},
        Case{"ManyAutoscalers", Level::kWarning, "one round takes 60 s and not 15",
             [](DoctorFacts& facts) { facts.load->autoscalers = 1200; }}),
    [](const auto& tested) { return std::string(tested.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Health, BrokenClusterTest,
    testing::Values(
        Case{"TtlBelowThreeFlushes", Level::kFailure, "the TTL is below three flush intervals",
             OfHealth("activescale_ingest_slow_streams 2\n")},
        Case{"ReplicasWithoutStore", Level::kFailure, "1 other ready replicas and no shared store",
             OfHealth("activescale_other_ready_replicas_without_shared_store 1\n")},
        Case{"ClockSkew", Level::kWarning, "clock skew: a sender's clock is 90 s behind ours",
             OfHealth("activescale_ingest_sender_clock_skew_seconds -90\n")},
        Case{"NoIdentity", Level::kWarning, "7 messages told no pod",
             OfHealth("activescale_ingest_dropped_by_ids_total{reason=\"no_node\"} 7\n")},
        Case{"CertificateNotTakenUp", Level::kWarning,
             "a changed certificate could not be taken up",
             OfHealth("activescale_serving_certificate_reloads_total{result=\"failed\"} 1\n")},
        Case{"CertificateEnds", Level::kWarning, "expires in 1.0 days",
             [](DoctorFacts& facts) {
               (*facts.install->health[0]
                     .metrics)["activescale_serving_certificate_expiry_seconds"] = 1'800'086'400;
             }},
        Case{"StatsNotIncluded", Level::kWarning, "stats are not included, or no request has come",
             [](DoctorFacts& facts) {
               (*facts.install->health[0].metrics)["activescale_ingest_stored_metrics_total"] = 0;
             }},
        Case{"NobodyPushes", Level::kWarning, "no Envoy has pushed",
             [](DoctorFacts& facts) { facts.install->health[0].metrics->clear(); }}),
    [](const auto& tested) { return std::string(tested.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Workload, BrokenClusterTest,
    testing::Values(
        Case{"NoHpa", Level::kFailure, "HPA shop/web: there is none",
             [](DoctorFacts& facts) { facts.workload = Fail(Code::kNotFound, "there is none"); }},
        Case{"NotRestartedSinceAnnotation", Level::kFailure,
             "2 of 2 pods do not push (web-0, web-1): not restarted since the annotation",
             OfWorkload([](WorkloadFacts& facts) {
               for (WorkloadPod& pod : facts.pods) pod.sidecar.settings = {};
               facts.template_settings.sink = "x:9000";
               SilencePods(facts);
             })},
        Case{"NotRestartedSinceMeshConfig", Level::kFailure, "not restarted since MeshConfig",
             OfWorkload([](WorkloadFacts& facts) {
               for (WorkloadPod& pod : facts.pods) pod.sidecar.settings = {};
               facts.mesh_settings.sink = "x:9000";
               SilencePods(facts);
             })},
        Case{"NoSink", Level::kFailure,
             "neither the annotation proxy.istio.io/config nor MeshConfig",
             OfWorkload([](WorkloadFacts& facts) {
               for (WorkloadPod& pod : facts.pods) pod.sidecar.settings = {};
               SilencePods(facts);
             })},
        Case{"NoSidecar", Level::kFailure, "no Istio sidecar in it",
             OfWorkload([](WorkloadFacts& facts) {
               for (WorkloadPod& pod : facts.pods) pod.sidecar = {};
               SilencePods(facts);
             })},
        Case{"PushesElsewhere", Level::kFailure, "their sidecars push to activescale-grpc",
             OfWorkload(SilencePods)},
        Case{"OneIsSilent", Level::kFailure, "1 of 2 pods do not push (web-1)",
             OfWorkload([](WorkloadFacts& facts) {
               for (auto& [metric, values] : facts.values) values->erase("web-1");
             })},
        Case{"SidecarKeepsNoStats", Level::kFailure, "the stats are not included",
             OfWorkload([](WorkloadFacts& facts) {
               for (WorkloadPod& pod : facts.pods) pod.sidecar.settings.stats = {};
               for (auto& [pod, milli] : *facts.values["inbound_active_requests"]) milli = 0;
             })},
        Case{"FlushAgainstTtl", Level::kFailure, "its Envoys flush each 30s, and the TTL is 20s",
             OfWorkload([](WorkloadFacts& facts) {
               facts.pods[0].sidecar.flush_interval = std::chrono::seconds(30);
             })},
        Case{"SeveralOwners", Level::kWarning,
             "Deployment/other, Deployment/web; all of them count",
             OfWorkload([](WorkloadFacts& facts) { facts.pods[1].owner = "Deployment/other"; })},
        Case{"BothDirections", Level::kWarning, "lists inbound and outbound together",
             OfWorkload([](WorkloadFacts& facts) {
               facts.snapshot.hpa.spec.metrics.push_back({.name = "outbound_active_requests"});
               facts.snapshot.hpa.sources.emplace_back();
               facts.snapshot.seen.answers.emplace_back();
             })},
        Case{"OtherDirectionMoves", Level::kWarning, "follows the direction without traffic",
             OfWorkload([](WorkloadFacts& facts) {
               std::swap(facts.values["inbound_active_requests"],
                         facts.values["outbound_active_requests"]);
             })},
        Case{"OneMetricFails", Level::kFailure, "never scales in and goes on showing the values",
             OfWorkload([](WorkloadFacts& facts) {
               facts.snapshot.hpa.spec.metrics.push_back({.name = "inbond_active_requests"});
               facts.snapshot.hpa.sources.emplace_back();
               facts.snapshot.seen.answers.emplace_back().error = "unknown metric";
               facts.snapshot.denied.push_back(false);
             })},
        Case{"MayNotRead", Level::kWarning, "forbidden", OfWorkload([](WorkloadFacts& facts) {
               facts.snapshot.seen.answers[0].error = "forbidden";
               facts.snapshot.denied[0] = true;
             })},
        Case{"ApiDoesNotAnswer", Level::kFailure, "does not answer through the aggregator",
             OfWorkload([](WorkloadFacts& facts) {
               facts.values["active_connections"] = Fail(Code::kUnavailable, "503");
             })},
        Case{"AmbiguousSelector", Level::kFailure, "are also another HPA's",
             OfWorkload([](WorkloadFacts& facts) {
               facts.snapshot.seen.selector_fault = "AmbiguousSelector";
             })},
        Case{"NoPods", Level::kFailure, "wrong selector: that of Deployment/web matches no pod",
             OfWorkload([](WorkloadFacts& facts) { facts.pods.clear(); })},
        Case{"ScaledToZero", Level::kWarning, "switches the HPA off",
             OfWorkload([](WorkloadFacts& facts) {
               facts.snapshot.seen.spec_replicas = 0;
               facts.pods.clear();
             })},
        Case{"CannotScale", Level::kFailure, "AbleToScale False since noon: FailedUpdateScale",
             OfWorkload([](WorkloadFacts& facts) {
               facts.snapshot.hpa.conditions[0] = {"AbleToScale", "False", "FailedUpdateScale",
                                                   "forbidden", "noon"};
             })},
        Case{"AtTheMaximum", Level::kWarning, "TooManyReplicas",
             OfWorkload([](WorkloadFacts& facts) {
               facts.snapshot.hpa.conditions.push_back(
                   {"ScalingLimited", "True", "TooManyReplicas", "more than 20", "noon"});
             })},
        Case{"NotSyncedYet", Level::kWarning, "has not set AbleToScale yet",
             OfWorkload([](WorkloadFacts& facts) { facts.snapshot.hpa.conditions.clear(); })}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(DoctorTest, AnotherOwnerOfExternalMetricsIsLeftAlone) {
  DoctorFacts facts = Healthy();
  facts.install->external = Ours();
  facts.install->external->owner = "keda/keda-operator-metrics-apiserver";
  const Findings findings = Diagnose(facts);
  EXPECT_EQ(FirstProblem(findings), "");
  EXPECT_NE(FindingsText(findings).find("belongs to keda/"), std::string::npos);
}

TEST(DoctorTest, TextIsOneLineAFindingWhateverItHolds) {
  const Findings findings{{Level::kFailure, "a", "two\nlines\x1b[31m", "mend\nit"}};
  EXPECT_EQ(FindingsText(findings),
            "failure  a: two lines [31m\n         -> mend it\n1 failure, 0 warnings, 0 ok\n");
}

TEST(DoctorTest, JsonHoldsTheSame) {
  const Findings findings{{Level::kOk, "a", "fine", {}}, {Level::kWarning, "b", "\"odd\"", "mend"}};
  EXPECT_EQ(FindingsJson(findings),
            R"({"level":"warning","failures":0,"warnings":1,"findings":[)"
            R"({"level":"ok","check":"a","message":"fine"},)"
            R"({"level":"warning","check":"b","message":"\"odd\"","advice":"mend"}]})"
            "\n");
}

TEST(DoctorTest, ReadsSamplesAndTheirSums) {
  const Samples samples =
      ReadSamples("# HELP x y\nx{a=\"1\"} 2\nx{a=\"2\"} 3\ny 1.5e3\nz nonsense\n");
  EXPECT_EQ(samples.at("x"), 5);
  EXPECT_EQ(samples.at("x{a=\"2\"}"), 3);
  EXPECT_EQ(samples.at("y"), 1500);
  EXPECT_FALSE(samples.contains("z"));
}

}  // namespace
}  // namespace activescale::insight
