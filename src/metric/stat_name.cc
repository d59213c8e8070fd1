#include "metric/stat_name.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/ascii.h"

namespace activescale::metric {
namespace {

// Two pieces read as one text, so that a prefix that Envoy cut in two is matched without a copy.
struct Joined {
  std::string_view head;
  std::string_view tail;

  [[nodiscard]] size_t size() const { return head.size() + tail.size(); }
  char operator[](size_t i) const { return i < head.size() ? head[i] : tail[i - head.size()]; }
};

// Linear in practice: after a mismatch only the last `*` takes one character more.
bool GlobMatches(std::string_view glob, const Joined& text) {
  size_t g = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t star_text = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      star_text = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

bool MatchesAny(const std::vector<std::string>& globs, const Joined& text) {
  return std::ranges::any_of(globs, [&](const std::string& g) { return GlobMatches(g, text); });
}

// Ports of Istio's proxy that carry no traffic of the pod: admin, failure detection, debug,
// telemetry, health, DNS, Prometheus. 15001, 15006 and 15008 do carry it and are not here.
// Source: https://istio.io/latest/docs/ops/deployment/application-requirements/#ports-used-by-istio
constexpr std::array<uint16_t, 7> kReservedPorts = {15000, 15002, 15004, 15020,
                                                    15021, 15053, 15090};

// The port of `<address>_<port>`; nothing if the text does not end so.
std::optional<uint16_t> PortOf(std::string_view address) {
  const size_t underscore = address.rfind('_');
  if (underscore == std::string_view::npos) return std::nullopt;
  const std::string_view digits = address.substr(underscore + 1);
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return port;
}

bool IsReserved(std::optional<uint16_t> port) {
  return port && std::ranges::find(kReservedPorts, *port) != kReservedPorts.end();
}

// `0.0.0.0_8080` or `[__]_8080`: how Envoy writes a listener's address, with ':' as '_'. Listeners
// inside the proxy (`envoy_//connect_originate/...`), pipes, `admin` and `...worker_0` are not so.
bool IsListenerAddress(std::string_view address) {
  if (!PortOf(address)) return false;
  std::string_view host = address.substr(0, address.rfind('_'));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    return std::ranges::all_of(host, [](char c) {
      return base::IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '_' ||
             c == '.';
    });
  }
  return std::ranges::count(host, '.') == 3 &&
         std::ranges::all_of(host, [](char c) { return base::IsDigit(c) || c == '.'; });
}

// Envoy's default tags are named `envoy.<name>`, Istio's `<name>`.
std::string_view LabelValue(std::span<const LabelView> labels, std::string_view name) {
  constexpr std::string_view kEnvoy = "envoy.";
  for (LabelView label : labels) {
    if (label.name.starts_with(kEnvoy)) label.name.remove_prefix(kEnvoy.size());
    if (label.name == name) return label.value;
  }
  return {};
}

std::string_view WithoutSemicolon(std::string_view text) {
  return text.ends_with(';') ? text.substr(0, text.size() - 1) : text;
}

// What stands between `<first>.` and `suffix` in a candidate's name; "" if they touch.
std::string_view Middle(std::string_view name, std::string_view first, std::string_view suffix) {
  name.remove_suffix(suffix.size());
  return name.size() > first.size() ? name.substr(first.size()) : std::string_view();
}

}  // namespace

StatNameRules::StatNameRules() : StatNameRules({"inbound_*"}, {"outbound_*"}) {}

StatNameRules::StatNameRules(std::vector<std::string> inbound_prefixes,
                             std::vector<std::string> outbound_prefixes)
    : inbound_(std::move(inbound_prefixes)), outbound_(std::move(outbound_prefixes)) {}

std::optional<MetricKind> StatNameRules::Classify(std::string_view name,
                                                  std::span<const LabelView> labels) const {
  if (!IsCandidate(name)) return std::nullopt;
  return name[0] == 'h' ? ClassifyRequests(name, labels) : ClassifyConnections(name, labels);
}

std::optional<MetricKind> StatNameRules::ClassifyRequests(std::string_view name,
                                                          std::span<const LabelView> labels) const {
  const std::string_view rest = WithoutSemicolon(Middle(name, "http.", kRequestsSuffix));
  const std::string_view tag = WithoutSemicolon(LabelValue(labels, "http_conn_manager_prefix"));
  Joined prefix{tag, rest};
  if (!tag.empty() && !rest.empty()) {
    // With the dot that Envoy cut at; the one that ends `http.` stands before `rest` in the name.
    prefix.tail = std::string_view(rest.data() - 1, rest.size() + 1);
  }
  if (prefix.size() == 0) return std::nullopt;
  if (rest.empty() || tag.empty()) {
    const std::string_view whole = tag.empty() ? rest : tag;
    if (whole == "admin" || whole == "agent" || whole == "stats") return std::nullopt;
  }
  if (IsReserved(PortOf(rest.empty() ? tag : rest))) return std::nullopt;
  if (MatchesAny(inbound_, prefix)) return MetricKind::kInboundActiveRequests;
  if (MatchesAny(outbound_, prefix)) return MetricKind::kOutboundActiveRequests;
  return std::nullopt;
}

std::optional<MetricKind> StatNameRules::ClassifyConnections(std::string_view name,
                                                             std::span<const LabelView> labels) {
  if (!LabelValue(labels, "worker_id").empty()) return std::nullopt;
  const std::string_view middle = Middle(name, "listener.", kConnectionsSuffix);
  const std::string_view tag = LabelValue(labels, "listener_address");
  // With the address as a label nothing is left in the name, but for a worker's breakdown.
  if (!tag.empty() && !middle.empty()) return std::nullopt;
  const std::string_view address = tag.empty() ? middle : tag;
  if (!IsListenerAddress(address) || IsReserved(PortOf(address))) return std::nullopt;
  return MetricKind::kActiveConnections;
}

}  // namespace activescale::metric
