#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "insight/dashboard_feed.h"
#include "net/http_types.h"
#include "telemetry/registry.h"

namespace activescale::insight {

/// A file of the page, built into the binary.
struct PageFile {
  std::string_view path;  // "/", "/app.js"
  std::string_view content_type;
  std::string_view body;
};

/// Under which names the dashboard may be asked for. A page of a stranger that made its own name
/// point here (DNS rebinding) asks under that name.
struct HostRules {
  /// Any IP address, which no name can be made to look like; else those of loopback only.
  bool any_address = false;
  std::vector<std::string> names;  // besides localhost
};

/// Whether a Host header, with or without a port, is one of ours.
[[nodiscard]] bool IsOurHost(std::string_view host, const HostRules& rules);

/// The dashboard over HTTP:
///   /                  and the other files of the page
///   /events            server-sent events of the overview
///   /events/NS/NAME    of one workload
///   /history/METRIC/NS/NAME/NS/NAME...   the last 15 minutes; METRIC is its index, or `all`
/// Threads: the feed's.
class DashboardHandler final : public net::HttpHandler {
 public:
  static constexpr size_t kMaxHistories = 100;

  /// All of them must outlive this.
  DashboardHandler(HostRules hosts, std::span<const PageFile> files, DashboardFeed& feed,
                   telemetry::Registry& registry);

  void Handle(net::HttpRequest request, net::HttpResponder respond) override;

 private:
  [[nodiscard]] net::HttpResponse Answer(const net::HttpRequest& request);
  [[nodiscard]] net::HttpResponse AnswerData(std::span<const std::string> parts, bool head);
  [[nodiscard]] net::HttpResponse AnswerHistory(std::span<const std::string> parts);

  const HostRules hosts_;
  const std::span<const PageFile> files_;
  DashboardFeed& feed_;
  telemetry::Counter& refused_hosts_;
  telemetry::Counter& refused_requests_;
};

/// An answer of one line of text, as this port gives it.
[[nodiscard]] net::HttpResponse DashboardError(int status, std::string_view message);

}  // namespace activescale::insight
