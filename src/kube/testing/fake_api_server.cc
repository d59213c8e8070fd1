#include "kube/testing/fake_api_server.h"

#include <fmt/format.h>

#include <utility>

namespace activescale::kube {

FakeApiServer::FakeApiServer()
    : server_([this](const net::HttpRequest& request, Reply& reply) { Handle(request, reply); }) {}

void FakeApiServer::On(const std::string& route, Answer answer) {
  base::MutexLock lock(mutex_);
  routes_[route].answers.push_back(std::move(answer));
}

std::vector<net::HttpRequest> FakeApiServer::Requests(const std::string& route) const {
  base::MutexLock lock(mutex_);
  const auto it = routes_.find(route);
  return it == routes_.end() ? std::vector<net::HttpRequest>() : it->second.requests;
}

ClusterAccess FakeApiServer::access() const {
  ClusterAccess access;
  access.server = server_.url();
  access.origin = "the test";
  return access;
}

void FakeApiServer::Handle(const net::HttpRequest& request, Reply& reply) {
  const std::string path = request.target.substr(0, request.target.find('?'));
  std::string verb = request.method;
  if (verb == "GET" && request.target.find("watch=true") != std::string::npos) verb = "WATCH";
  Answer answer;
  {
    base::MutexLock lock(mutex_);
    const std::string list = "LIST " + path;
    if (verb == "GET" && routes_.contains(list)) verb = "LIST";
    const auto it = routes_.find(verb + " " + path);
    if (it != routes_.end()) {
      Route& route = it->second;
      route.requests.push_back(request);
      answer = route.answers[route.next];
      if (route.next + 1 < route.answers.size()) ++route.next;
    }
  }
  if (answer) {
    answer(request, reply);
  } else {
    reply.Send(404, StatusJson(404, "NotFound", "the script has no " + verb + " " + path));
  }
}

std::string ObjectJson(std::string_view ns, std::string_view name, std::string_view metadata,
                       std::string_view rest) {
  return fmt::format(R"({{"metadata":{{"namespace":"{}","name":"{}"{}{}}}{}{}}})", ns, name,
                     metadata.empty() ? "" : ",", metadata, rest.empty() ? "" : ",", rest);
}

std::string ListJson(const std::vector<std::string>& items, std::string_view version,
                     std::string_view continue_token) {
  return fmt::format(
      R"({{"kind":"List","apiVersion":"v1","metadata":{{"resourceVersion":"{}","continue":"{}"}},)"
      R"("items":[{}]}})",
      version, continue_token, fmt::join(items, ","));
}

std::string EventJson(std::string_view type, std::string_view object) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}

std::string BookmarkJson(std::string_view version) {
  return EventJson("BOOKMARK",
                   fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}}}})", version));
}

std::string StatusJson(int code, std::string_view reason, std::string_view message) {
  return fmt::format(
      R"({{"kind":"Status","apiVersion":"v1","status":"Failure","code":{},"reason":"{}",)"
      R"("message":"{}"}})",
      code, reason, message);
}

FakeApiServer::Answer Respond(int status, std::string body) {
  return [status, body = std::move(body)](const net::HttpRequest&, FakeApiServer::Reply& reply) {
    reply.Send(status, body);
  };
}

FakeApiServer::Answer WatchAndHang(std::vector<std::string> events) {
  return [events = std::move(events)](const net::HttpRequest&, FakeApiServer::Reply& reply) {
    reply.Start(200);
    for (const std::string& event : events) reply.Chunk(event);
    reply.Hang();
  };
}

FakeApiServer::Answer WatchAndEnd(std::vector<std::string> pieces) {
  return [pieces = std::move(pieces)](const net::HttpRequest&, FakeApiServer::Reply& reply) {
    reply.Start(200);
    for (const std::string& piece : pieces) reply.Chunk(piece);
    reply.Finish();
  };
}

}  // namespace activescale::kube
