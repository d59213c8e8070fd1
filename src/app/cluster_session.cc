#include "app/cluster_session.h"

#include <chrono>
#include <memory>
#include <utility>

namespace activescale::app {
namespace {

constexpr std::chrono::seconds kTimeout{5};

}  // namespace

base::Result<kube::ClusterAccess> FindAccess(const std::string& kubeconfig,
                                             const std::string& context,
                                             const Environment& environment) {
  std::string file = kubeconfig;
  if (file.empty()) file = environment("KUBECONFIG").value_or("");
  if (!file.empty()) return kube::LoadKubeconfig(file, context);
  auto of_home = kube::LoadKubeconfig(environment("HOME").value_or("") + "/.kube/config", context);
  const auto host = environment("KUBERNETES_SERVICE_HOST");
  if (of_home || of_home.error().code != base::Code::kNotFound || !host) return of_home;
  return kube::InClusterAccess(*host, environment("KUBERNETES_SERVICE_PORT").value_or(""),
                               std::string(kube::kServiceAccountDir));
}

ClusterSession::ClusterSession(std::optional<kube::ClusterAccess> access) {
  if (access) api_.emplace(loop_.http(), *std::move(access), clock_);
}

kube::ApiResult<boost::json::object> ClusterSession::Send(kube::ApiClient::Call call) {
  return Await<kube::ApiResult<boost::json::object>>(
      [&](auto done) { api_->Send(std::move(call), std::move(done)); });
}

base::Result<std::string> ClusterSession::Text(const std::string& path) {
  auto body = std::make_shared<std::string>();
  auto error = Await<std::optional<kube::ApiError>>([&](auto done) {
    api_->Stream({.path = path, .accept = "*/*", .timeout = kTimeout},
                 {.on_open = [] {},
                  .on_body =
                      [body](std::string_view piece) {
                        body->append(piece);
                        return true;
                      },
                  .on_end = std::move(done)});
  });
  if (error) return std::unexpected(std::move(error->error));
  return std::move(*body);
}

base::Result<std::string> ClusterSession::Fetch(const std::string& url) {
  auto answer = Await<base::Result<net::ClientResponse>>([&](auto done) {
    loop_.http().Submit({.url = url, .connect_timeout = kTimeout, .timeout = kTimeout},
                        std::move(done));
  });
  if (!answer) return std::unexpected(std::move(answer.error()));
  return std::move(answer->body);
}

insight::ClusterReader ClusterSession::Reader() {
  return {
      .get =
          [this](const std::string& path) {
            return Send({.path = path, .content_type = {}, .body = {}});
          },
      .post =
          [this](const std::string& path, const std::string& json) {
            return Send(
                {.method = "POST", .path = path, .content_type = "application/json", .body = json});
          },
      .text = [this](const std::string& path) { return Text(path); },
      .fetch = [this](const std::string& url) { return Fetch(url); }};
}

}  // namespace activescale::app
