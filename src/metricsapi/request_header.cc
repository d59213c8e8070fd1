#include "metricsapi/request_header.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/percent.h"

namespace activescale::metricsapi {

namespace {

bool StartsWithIgnoringCase(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && std::ranges::equal(text.substr(0, prefix.size()), prefix,
                                                            {}, base::LowerChar, base::LowerChar);
}

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && StartsWithIgnoringCase(a, b);
}

/// The first value that is not empty, of the first header name that has one.
std::string FirstValue(const net::HttpRequest& request, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string_view value = request.FindHeader(name);
    if (!value.empty()) return std::string(value);
  }
  return {};
}

std::vector<std::string> AllValues(const net::HttpRequest& request,
                                   const std::vector<std::string>& names) {
  std::vector<std::string> values;
  for (const std::string& name : names) {
    for (const auto& [key, value] : request.headers) {
      if (EqualsIgnoringCase(key, name)) values.push_back(value);
    }
  }
  return values;
}

std::string ExtraKey(std::string_view text) {
  std::string lower = base::Lower(text);
  auto decoded = base::PercentDecode(lower);
  return decoded ? *std::move(decoded) : lower;
}

void AddExtra(kube::UserInfo& user, const std::string& key, const std::string& value) {
  const auto found = std::ranges::find(
      user.extra, key, [](const auto& entry) -> const auto& { return entry.first; });
  if (found != user.extra.end()) {
    found->second.push_back(value);
  } else {
    user.extra.push_back({key, {value}});
  }
}

}  // namespace

std::optional<kube::UserInfo> ReadRequestHeaderUser(const net::HttpRequest& request,
                                                    const kube::DelegatedAuthConfig& config) {
  kube::UserInfo user;
  user.name = FirstValue(request, config.username_headers);
  if (user.name.empty()) return std::nullopt;
  user.uid = FirstValue(request, config.uid_headers);
  user.groups = AllValues(request, config.group_headers);
  for (const std::string& prefix : config.extra_header_prefixes) {
    for (const auto& [key, value] : request.headers) {
      if (!StartsWithIgnoringCase(key, prefix)) continue;
      AddExtra(user, ExtraKey(std::string_view(key).substr(prefix.size())), value);
    }
  }
  return user;
}

std::optional<std::string_view> ReadBearerToken(const net::HttpRequest& request) {
  constexpr std::string_view kScheme = "bearer ";
  std::string_view value = request.FindHeader("authorization");
  if (!StartsWithIgnoringCase(value, kScheme)) return std::nullopt;
  value.remove_prefix(kScheme.size());
  value = value.substr(0, value.find(' '));
  if (value.empty()) return std::nullopt;
  return value;
}

}  // namespace activescale::metricsapi
