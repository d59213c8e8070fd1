#include "kube/testing/pod_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace activescale::kube {
namespace {

constexpr size_t kPodsInNamespace = 1'000;
constexpr size_t kPodsInDeployment = 100;

size_t QueryNumber(std::string_view target, std::string_view name, size_t otherwise) {
  const size_t at = target.find(name);
  if (at == std::string_view::npos) return otherwise;
  size_t value = otherwise;
  std::from_chars(target.data() + at + name.size(), target.data() + target.size(), value);
  return value;
}

std::string Filler(size_t bytes) {
  std::string text = R"("managedFields":[)";
  constexpr std::string_view kPiece =
      R"({"manager":"kubelet","operation":"Update","apiVersion":"v1","fieldsV1":)"
      R"({"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:status":{}}}}}})";
  while (text.size() + kPiece.size() < bytes) text.append(kPiece).push_back(',');
  return text.append("{}]");
}

}  // namespace

std::string GeneratedPod(size_t n, size_t filler_bytes) {
  const size_t deployment = n / kPodsInDeployment;
  const std::string app = fmt::format("service-{}", deployment);
  const std::string hash = fmt::format("{:010x}", deployment * 2654435761U);
  const std::string metadata = fmt::format(
      R"("uid":"9f4c6a2e-0000-4000-8000-{0:012}","creationTimestamp":"2026-01-02T03:04:05Z",)"
      R"("labels":{{"app":"{1}","app.kubernetes.io/name":"{1}","app.kubernetes.io/instance":"prod",)"
      R"("app.kubernetes.io/version":"1.2.3","pod-template-hash":"{2}","team":"team-{3}",)"
      R"("security.istio.io/tlsMode":"istio","service.istio.io/canonical-name":"{1}"}},)"
      R"("ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"{1}-{2}",)"
      R"("controller":true}}],{4})",
      n, app, hash, deployment % 7, Filler(filler_bytes));
  const std::string status = fmt::format(
      R"("status":{{"phase":"Running","podIP":"10.{0}.{1}.{2}","podIPs":[{{"ip":"10.{0}.{1}.{2}"}}],)"
      R"("conditions":[{{"type":"Initialized","status":"True"}},{{"type":"Ready",)"
      R"("status":"True","lastTransitionTime":"2026-01-02T03:04:25Z"}}]}})",
      n / 65536, n / 256 % 256, n % 256);
  return ObjectJson(fmt::format("namespace-{}", n / kPodsInNamespace),
                    fmt::format("{}-{}-{:05x}", app, hash, n), metadata, status);
}

FakeApiServer::Answer ListGeneratedPods(size_t pods, size_t filler_bytes) {
  return [pods, filler_bytes](const net::HttpRequest& request, FakeApiServer::Reply& reply) {
    const size_t begin = QueryNumber(request.target, "continue=", 0);
    const size_t limit = QueryNumber(request.target, "limit=", pods);
    const size_t end = std::min(pods, begin + limit);
    std::vector<std::string> items;
    items.reserve(end - begin);
    for (size_t n = begin; n < end; ++n) items.push_back(GeneratedPod(n, filler_bytes));
    reply.Send(200, ListJson(items, "5", end < pods ? std::to_string(end) : ""));
  };
}

}  // namespace activescale::kube
