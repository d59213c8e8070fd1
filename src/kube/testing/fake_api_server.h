#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "kube/credentials.h"
#include "net/testing/fake_http_server.h"

namespace activescale::kube {

/// A Kubernetes API server on loopback that answers as its script says. A route is "LIST path",
/// "WATCH path" or "METHOD path" without the query; a list is a GET without watch=true.
class FakeApiServer {
 public:
  using Reply = net::FakeHttpServer::Reply;
  using Answer = std::function<void(const net::HttpRequest&, Reply&)>;

  FakeApiServer();

  /// Adds an answer; each is given once, in this order, the last one again and again.
  void On(const std::string& route, Answer answer);
  /// What came on a route so far.
  [[nodiscard]] std::vector<net::HttpRequest> Requests(const std::string& route) const;
  [[nodiscard]] ClusterAccess access() const;
  [[nodiscard]] size_t connections() const { return server_.connections(); }

 private:
  struct Route {
    std::vector<Answer> answers;
    size_t next = 0;
    std::vector<net::HttpRequest> requests;
  };
  void Handle(const net::HttpRequest& request, Reply& reply);

  mutable base::Mutex mutex_;
  std::map<std::string, Route> routes_ GUARDED_BY(mutex_);
  net::FakeHttpServer server_;  // last: its threads use the above
};

/// {"metadata": {"namespace", "name"}, ...}; `rest` is what follows in the object, e.g.
/// R"("status":{"phase":"Running"})", and `metadata` what follows in its metadata.
[[nodiscard]] std::string ObjectJson(std::string_view ns, std::string_view name,
                                     std::string_view metadata = {}, std::string_view rest = {});
[[nodiscard]] std::string ListJson(const std::vector<std::string>& items, std::string_view version,
                                   std::string_view continue_token = {});
[[nodiscard]] std::string EventJson(std::string_view type, std::string_view object);
/// A bookmark at that version.
[[nodiscard]] std::string BookmarkJson(std::string_view version);
[[nodiscard]] std::string StatusJson(int code, std::string_view reason, std::string_view message);

/// An answer of this body.
[[nodiscard]] FakeApiServer::Answer Respond(int status, std::string body);
/// A watch that sends these events and then stays open, saying nothing.
[[nodiscard]] FakeApiServer::Answer WatchAndHang(std::vector<std::string> events);
/// A watch that sends these pieces and ends as its server's time-out would.
[[nodiscard]] FakeApiServer::Answer WatchAndEnd(std::vector<std::string> pieces);

}  // namespace activescale::kube
