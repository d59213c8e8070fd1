#include "source/scrape_config.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace activescale::source {
namespace {

using Entries = std::vector<metric::Labels::Entry>;

using std::chrono::milliseconds;

TEST(ScrapeConfigTest, ReadsWhatPrometheusReads) {
  const auto jobs = ParseScrapeConfig(R"yaml(
global: {scrape_interval: 10s}
scrape_configs:
- job_name: plain
  static_configs:
  - targets: [a:1, "[::1]:2"]
- job_name: loki
  scrape_interval: 1s
  scrape_timeout: 500ms
  metrics_path: /m
  scheme: https
  tls_config: {ca_file: ca, cert_file: cert, key_file: key, server_name: s, insecure_skip_verify: true}
  authorization: {credentials_file: token}
  body_size_limit: 1MiB
  honor_labels: true
  honor_timestamps: false
  static_configs:
  - {targets: [b:3], labels: {namespace: loki}}
  kubernetes_pods:
  - {namespace: loki, selector: "app in (a, b)", port: 3100}
  kubernetes_endpoints:
  - {namespace: loki, service: scheduler, port: http-metrics}
  - {namespace: loki, selector: app=x, port: 9095}
)yaml");
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 2U);
  const ScrapeJob& plain = (*jobs)[0];
  EXPECT_EQ(plain.interval, milliseconds(10'000));
  EXPECT_EQ(plain.timeout, milliseconds(10'000));
  EXPECT_EQ(plain.scheme + plain.path, "http/metrics");
  EXPECT_EQ(plain.max_body_bytes, size_t{16} << 20);
  EXPECT_EQ(plain.targets[0].addresses, (std::vector<std::string>{"a:1", "[::1]:2"}));
  EXPECT_EQ(plain.tls, nullptr);
  EXPECT_FALSE(plain.rules.honor_labels);
  EXPECT_TRUE(plain.rules.honor_timestamps);
  const ScrapeJob& loki = (*jobs)[1];
  EXPECT_EQ(loki.interval, milliseconds(1'000));
  EXPECT_EQ(loki.timeout, milliseconds(500));
  EXPECT_EQ(loki.scheme + loki.path, "https/m");
  EXPECT_EQ(loki.tls->ca_file, "ca");
  EXPECT_TRUE(loki.tls->insecure_skip_verify);
  EXPECT_EQ(loki.bearer_token_file, "token");
  EXPECT_EQ(loki.max_body_bytes, size_t{1} << 20);
  EXPECT_TRUE(loki.rules.honor_labels);
  EXPECT_FALSE(loki.rules.honor_timestamps);
  EXPECT_EQ(loki.targets[0].labels.Get("namespace"), "loki");
  ASSERT_EQ(loki.cluster.size(), 3U);
  EXPECT_EQ(loki.cluster[0].kind, ClusterTargets::Kind::kPods);
  EXPECT_EQ(loki.cluster[0].ns, "loki");
  EXPECT_EQ(loki.cluster[0].port_number, 3100);
  EXPECT_TRUE(loki.cluster[0].selector.Matches(metric::Labels(Entries{{"app", "b"}})));
  EXPECT_EQ(loki.cluster[1].kind, ClusterTargets::Kind::kEndpoints);
  EXPECT_EQ(loki.cluster[1].selector.ToString(), "kubernetes.io/service-name=scheduler");
  EXPECT_EQ(loki.cluster[1].port, "http-metrics");
  EXPECT_EQ(loki.cluster[1].port_number, 0);
  EXPECT_EQ(loki.cluster[2].selector.ToString(), "app=x");
  EXPECT_EQ(loki.cluster[2].port_number, 9095);
}

TEST(ScrapeConfigTest, KnowsWhetherTwoJobsScrapeTheSameWay) {
  const auto job = [](const std::string& rest) {
    return (*ParseScrapeConfig("scrape_configs:\n- {job_name: a" + rest + "}"))[0];
  };
  const std::string tls = ", scheme: https, tls_config: {ca_file: ca}";
  EXPECT_TRUE(job("").ScrapesAs(job(", static_configs: [{targets: ['b:1']}]")));
  EXPECT_TRUE(job(tls).ScrapesAs(job(tls)));
  for (const std::string other :
       {", scrape_interval: 1s", ", metrics_path: /m", ", honor_labels: true", tls.c_str(),
        ", scheme: https", ", body_size_limit: 1Mi", ", bearer_token_file: t"}) {
    EXPECT_FALSE(job("").ScrapesAs(job(other))) << other;
  }
  EXPECT_FALSE(job(tls).ScrapesAs(job(", scheme: https")));
}

TEST(ScrapeConfigTest, NamesTheFaultAndItsLine) {
  const struct {
    std::string yaml;
    std::string want;
  } cases[] = {
      {"", "line 0: the scrape configuration is no mapping"},
      {"scrape_configs: [", "line 1: "},
      {"alerting: {}", "line 1: alerting is not known in the scrape configuration"},
      {"scrape_configs:\n- {relabel_configs: []}", "line 2: relabel_configs is not known in a job"},
      {"scrape_configs:\n- {scheme: http}", "line 2: a job has no job_name"},
      {"scrape_configs:\n- {job_name: a}\n- {job_name: a}",
       "line 3: there are two jobs of the name a"},
      {"scrape_configs:\n- {job_name: a, scrape_interval: soon}", "line 2: scrape_interval: "},
      {"scrape_configs:\n- {job_name: a, scrape_interval: 1ms}",
       "line 2: scrape_interval is less than 100 ms"},
      {"scrape_configs:\n- {job_name: a, scrape_interval: 1s, scrape_timeout: 2s}",
       "line 2: scrape_timeout is longer than scrape_interval"},
      {"scrape_configs:\n- {job_name: a, scheme: ftp}", "line 2: scheme is http or https"},
      {"scrape_configs:\n- {job_name: a, body_size_limit: big}", "line 2: body_size_limit"},
      {"scrape_configs:\n- {job_name: a, static_configs: [{targets: ['http://a:1']}]}",
       "line 2: a target is HOST:PORT"},
      {"scrape_configs:\n- {job_name: a, kubernetes_pods: [{namespace: n}]}",
       "line 2: kubernetes_pods needs a port"},
      {"scrape_configs:\n- {job_name: a, kubernetes_pods: [{namespace: n, selector: '=', port: "
       "1}]}",
       "line 2: "},
      {"scrape_configs:\n- {job_name: a, kubernetes_pods: [{namespace: n, port: http}]}",
       "line 2: the port of kubernetes_pods is a number"},
      {"scrape_configs:\n- {job_name: a, kubernetes_endpoints: [{namespace: n, port: http}]}",
       "line 2: kubernetes_endpoints needs either service"},
      {"scrape_configs:\n- {job_name: a, kubernetes_endpoints: [{service: s, port: http}]}",
       "line 2: kubernetes_endpoints needs a namespace"},
      {"scrape_configs:\n- {job_name: a, kubernetes_endpoints: [{namespace: n, service: s}]}",
       "line 2: kubernetes_endpoints needs a port"},
      {"scrape_configs:\n- {job_name: a, kubernetes_endpoints: [{namespace: n, service: 'a b', "
       "port: 1}]}",
       "line 2: "},
      {"scrape_configs:\n- {job_name: a, authorization: {type: Basic}}",
       "line 2: only the type Bearer is known"},
  };
  for (const auto& c : cases) {
    const auto jobs = ParseScrapeConfig(c.yaml);
    ASSERT_FALSE(jobs) << c.yaml;
    EXPECT_TRUE(jobs.error().message.starts_with(c.want)) << jobs.error().message;
  }
}

}  // namespace
}  // namespace activescale::source
