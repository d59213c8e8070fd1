#include "kube/delegated_auth_config_watch.h"

#include <fmt/format.h>

#include <utility>

#include <boost/json/parse.hpp>

#include "base/log.h"
#include "kube/json.h"

namespace activescale::kube {
namespace {

namespace json = boost::json;

constexpr std::string_view kName = "kube-system/extension-apiserver-authentication";

WatchTarget Target() {
  // By name on the server: the Role extension-apiserver-authentication-reader allows just this one.
  return {.resource = "configmaps",
          .path = "/api/v1/namespaces/kube-system/configmaps",
          .label_selector = {},
          .field_selector = "metadata.name=extension-apiserver-authentication",
          .metadata_only = false,
          .mask = {"data"}};
}

/// The strings of a JSON array in data[key]; none if the key is absent.
base::Result<std::vector<std::string>> ReadList(const json::object& config_map,
                                                std::string_view key) {
  std::vector<std::string> values;
  const json::object* data = FindObject(config_map, {"data"});
  const json::value* text = data == nullptr ? nullptr : data->if_contains(key);
  if (text == nullptr) return values;
  json::error_code error = json::error::syntax;
  const json::value list =
      text->is_string() ? json::parse(text->get_string(), error) : json::value();
  const auto refuse = [key] {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("{}: {} is not a JSON array of strings", kName, key));
  };
  if (error || (!list.is_array() && !list.is_null())) return refuse();
  if (list.is_null()) return values;
  for (const json::value& value : list.get_array()) {
    if (!value.is_string()) return refuse();
    values.emplace_back(std::string_view(value.get_string()));
  }
  return values;
}

}  // namespace

base::Result<DelegatedAuthConfig> ParseDelegatedAuthConfig(const json::object& config_map) {
  DelegatedAuthConfig config;
  config.client_ca_pem = FindString(config_map, {"data", "client-ca-file"});
  config.request_header_ca_pem = FindString(config_map, {"data", "requestheader-client-ca-file"});
  const std::pair<std::string_view, std::vector<std::string>*> lists[] = {
      {"requestheader-username-headers", &config.username_headers},
      {"requestheader-group-headers", &config.group_headers},
      {"requestheader-extra-headers-prefix", &config.extra_header_prefixes},
      {"requestheader-uid-headers", &config.uid_headers},
      {"requestheader-allowed-names", &config.allowed_names}};
  for (const auto& [key, values] : lists) {
    auto list = ReadList(config_map, key);
    if (!list) return std::unexpected(std::move(list.error()));
    *values = std::move(*list);
  }
  return config;
}

DelegatedAuthConfigWatch::DelegatedAuthConfigWatch(const Context& context)
    : refused_(context.registry.AddCounter(
          "activescale_kube_auth_configs_refused_total",
          "Versions of the ConfigMap extension-apiserver-authentication that were not usable")),
      sink_([this](const json::object& object) { OnConfigMap(object); },
            [](std::string_view, std::string_view) {
              LOG_WARNING("{} was deleted: its last content stays in use", kName);
            }),
      watcher_(context.api, Target(), sink_, context.registry, context.clock, context.random,
               context.watcher) {}

void DelegatedAuthConfigWatch::OnConfigMap(const json::object& config_map) {
  auto config = ParseDelegatedAuthConfig(config_map);
  if (!config) {
    refused_.Increment();
    LOG_ERROR("{}; the last good one stays in use", config.error().message);
    fault_.Set(std::make_shared<const std::string>(config.error().message));
    return;
  }
  fault_.Set(nullptr);
  const auto current = config_.Get();
  if (current != nullptr && *current == *config) return;
  if (config->request_header_ca_pem.empty()) {
    LOG_WARNING(
        "{} has no requestheader-client-ca-file: requests of the aggregator cannot be "
        "authenticated; start kube-apiserver with --requestheader-client-ca-file",
        kName);
  }
  LOG_INFO("took up {}", kName);
  config_.Set(std::make_shared<const DelegatedAuthConfig>(std::move(*config)));
}

telemetry::CheckResult DelegatedAuthConfigWatch::Health() const {
  const auto fault = fault_.Get();
  if (config_.Get() != nullptr) {
    return {true, fault == nullptr ? "" : *fault + "; the last good one is in use"};
  }
  const WatchStatus status = watcher_.status();
  if (fault != nullptr) return {false, *fault};
  if (!status.last_error.empty()) return {false, status.last_error};
  if (!status.synced) return {false, fmt::format("{} is not read yet", kName)};
  return {false, fmt::format("there is no ConfigMap {}", kName)};
}

}  // namespace activescale::kube
