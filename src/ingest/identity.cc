#include "ingest/identity.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace activescale::ingest {
namespace {

// Source: kubernetes/apimachinery:pkg/util/validation/validation.go.
constexpr size_t kMaxDnsLabel = 63;
constexpr size_t kMaxDnsSubdomain = 253;
constexpr size_t kMaxLabelName = 63;
constexpr size_t kMaxLabelValue = 63;

// Longer text is cut in messages to people.
constexpr size_t kShownBytes = 120;

bool IsLowerAlnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsAlnum(char c) { return IsLowerAlnum(c) || (c >= 'A' && c <= 'Z'); }

/// RFC 1123: lower-case letters, digits and '-', which is neither first nor last.
bool IsDnsLabel(std::string_view text) {
  if (text.empty() || text.size() > kMaxDnsLabel) return false;
  for (const char c : text) {
    if (!IsLowerAlnum(c) && c != '-') return false;
  }
  return text.front() != '-' && text.back() != '-';
}

/// Labels joined by dots; each may be as long as the whole, as Kubernetes has it.
bool IsDnsSubdomain(std::string_view text) {
  if (text.empty() || text.size() > kMaxDnsSubdomain) return false;
  char previous = '.';
  for (const char c : text) {
    const bool after_break = previous == '.';
    if (c == '.' ? (after_break || previous == '-') : !IsLowerAlnum(c)) {
      if (c != '-' || after_break) return false;
    }
    previous = c;
  }
  return IsLowerAlnum(previous);
}

/// Letters, digits, '-', '_' and '.', with a letter or digit at both ends.
bool IsLabelText(std::string_view text) {
  for (const char c : text) {
    if (!IsAlnum(c) && c != '-' && c != '_' && c != '.') return false;
  }
  return IsAlnum(text.front()) && IsAlnum(text.back());
}

bool IsLabelKey(std::string_view key) {
  if (const size_t slash = key.find('/'); slash != std::string_view::npos) {
    if (!IsDnsSubdomain(key.substr(0, slash))) return false;
    key.remove_prefix(slash + 1);
  }
  return !key.empty() && key.size() <= kMaxLabelName && IsLabelText(key);
}

bool IsLabelValue(std::string_view value) {
  return value.empty() || (value.size() <= kMaxLabelValue && IsLabelText(value));
}

/// The fields of a node id in Istio's form.
struct IstioId {
  std::string_view ip;
  metric::PodKeyView pod;
};

std::optional<IstioId> ParseIstioId(std::string_view id) {
  std::array<std::string_view, 4> fields;
  for (size_t i = 0; i < fields.size(); ++i) {
    const size_t end = id.find('~');
    const bool is_last = i + 1 == fields.size();
    if ((end == std::string_view::npos) != is_last) return std::nullopt;
    fields[i] = id.substr(0, end);
    if (!is_last) id.remove_prefix(end + 1);
  }
  const std::string_view ns = fields[3].substr(0, fields[3].find('.'));
  std::string_view pod = fields[2];
  if (fields[0].empty() || ns.empty() || !pod.ends_with(ns)) return std::nullopt;
  pod.remove_suffix(ns.size());
  if (!pod.ends_with('.')) return std::nullopt;
  pod.remove_suffix(1);
  return IstioId{fields[1], {ns, pod}};
}

std::string Shown(std::string_view text) {
  return text.size() <= kShownBytes ? std::string(text)
                                    : fmt::format("{}...", text.substr(0, kShownBytes));
}

/// What is kept of each pod is bounded: text longer than any real name counts as unknown.
std::string ShortOrEmpty(std::string_view text) {
  return text.size() <= kMaxDnsSubdomain ? std::string(text) : std::string();
}

base::Result<metric::PodKey> PodOf(const Node& node, const std::optional<IstioId>& id) {
  metric::PodKeyView pod;
  if (node.name && node.ns && !node.name->empty() && !node.ns->empty()) {
    pod = {*node.ns, *node.name};
  } else if (id) {
    pod = id->pod;
  } else {
    return base::Fail(
        base::Code::kInvalidArgument,
        fmt::format("no pod in the node: metadata lacks NAME or NAMESPACE, and the id \"{}\" is "
                    "not <type>~<ip>~<pod>.<namespace>~<namespace>.svc.<domain>; set the "
                    "metadata in Envoy's bootstrap",
                    Shown(node.id)));
  }
  if (!IsDnsLabel(pod.ns) || !IsDnsSubdomain(pod.name)) {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("not the name of a pod in Kubernetes: \"{}\" in namespace \"{}\"",
                                  Shown(pod.name), Shown(pod.ns)));
  }
  return metric::PodKey{std::string(pod.ns), std::string(pod.name)};
}

void TakeLabels(std::map<std::string, std::string> labels, Identity& identity) {
  std::vector<metric::Labels::Entry> entries;
  for (auto& [key, value] : labels) {
    if (entries.size() < kMaxLabels && IsLabelKey(key) && IsLabelValue(value)) {
      entries.emplace_back(key, std::move(value));
    } else {
      ++identity.ignored_labels;
    }
  }
  identity.labels = metric::Labels(std::move(entries));
}

}  // namespace

base::Result<Identity> IdentityOf(Node node) {
  const std::optional<IstioId> id = ParseIstioId(node.id);
  base::Result<metric::PodKey> pod = PodOf(node, id);
  if (!pod) return std::unexpected(pod.error());

  Identity identity;
  identity.pod = *std::move(pod);
  TakeLabels(std::move(node.labels), identity);
  identity.workload_name = ShortOrEmpty(node.workload_name.value_or(""));
  identity.cluster_id = ShortOrEmpty(node.cluster_id.value_or(""));
  const std::string ips = node.instance_ips.value_or("");
  identity.pod_ip = ShortOrEmpty(ips.substr(0, ips.find(',')));
  if (identity.pod_ip.empty() && id) identity.pod_ip = ShortOrEmpty(id->ip);
  return identity;
}

}  // namespace activescale::ingest
