#include "keda/hpa_metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.h"

namespace activescale::keda {
namespace {

/// One term alone: what KEDA's selector is.
constexpr std::string_view kObjectTerm = "scaledobject.keda.sh/name=";
/// With the scheme of gRPC's name resolver, and without an authority.
constexpr std::string_view kDnsScheme = "dns:///";

/// Takes what is before the next dot.
std::string_view TakeLabel(std::string_view& host) {
  const std::string_view label = host.substr(0, host.find('.'));
  host.remove_prefix(std::min(host.size(), label.size() + 1));
  return label;
}

}  // namespace

std::optional<HpaMetric> ParseHpaMetric(std::string_view name, std::string_view selector) {
  if (!selector.starts_with(kObjectTerm)) return std::nullopt;
  selector.remove_prefix(kObjectTerm.size());
  if (selector.empty() || selector.find(',') != std::string_view::npos) return std::nullopt;
  HpaMetric metric{.object = std::string(selector), .trigger = {}, .name = std::string(name)};
  const size_t dash = name.find('-');
  if (!name.starts_with('s') || dash == std::string_view::npos) return metric;
  const std::string_view digits = name.substr(1, dash - 1);
  size_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  if (!whole || (digits.size() > 1 && digits.front() == '0')) return metric;
  metric.trigger = index;
  metric.name = name.substr(dash + 1);
  return metric;
}

std::string QuestionOf(std::string_view ns, std::string_view object, std::string_view metric) {
  return fmt::format("keda {}/{} {}", ns, object, metric);
}

bool IsOurs(std::string_view address, const ScalerAddress& ours) {
  if (ours.host.empty()) return false;
  if (address.starts_with(kDnsScheme)) address.remove_prefix(kDnsScheme.size());
  const bool is_v6 = ours.host.find(':') != std::string::npos;
  const std::string listens = is_v6 ? fmt::format("[{}]", ours.host) : ours.host;
  if (address == fmt::format("{}:{}", listens, ours.port)) return true;
  if (ours.ns.empty()) return false;
  const std::string name = base::Lower(address.substr(0, address.find(':')));
  std::string_view host = name;
  const std::string_view service = TakeLabel(host);
  if (service != ours.service && service != ours.service + "-keda") return false;
  return TakeLabel(host) == ours.ns && (host.empty() || TakeLabel(host) == "svc");
}

}  // namespace activescale::keda
