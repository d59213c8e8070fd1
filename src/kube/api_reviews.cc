#include "kube/api_reviews.h"

#include <algorithm>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>

#include "kube/json.h"

namespace activescale::kube {
namespace {

namespace json = boost::json;
using base::Code;
using std::chrono::milliseconds;

constexpr double kBackoffFactor = 1.5;

bool MayHelpToRetry(const ApiError& error) {
  switch (error.http_status) {
    case 0:
      return error.error.code == Code::kUnavailable || error.error.code == Code::kDeadlineExceeded;
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return true;
    default:
      return false;
  }
}

json::array Strings(const std::vector<std::string>& values) {
  json::array array;
  for (const std::string& value : values) array.emplace_back(value);
  return array;
}

std::vector<std::string> ReadStrings(const json::value& value) {
  std::vector<std::string> strings;
  if (!value.is_array()) return strings;
  for (const json::value& element : value.get_array()) {
    if (element.is_string()) strings.emplace_back(std::string_view(element.get_string()));
  }
  return strings;
}

telemetry::Counter& Outcome(telemetry::Registry& registry, const std::string& kind,
                            const char* outcome) {
  return registry.AddCounter("activescale_kube_reviews_total",
                             "TokenReviews and SubjectAccessReviews asked of the API server",
                             {{"kind", kind}, {"outcome", outcome}});
}

}  // namespace

/// One review until its answer. If nobody completes it (the loop stopped while it waited for its
/// next attempt), its end does.
struct ReviewCaller::Pending {
  Pending(Callback callback, std::shared_ptr<std::atomic<size_t>> count)
      : done(std::move(callback)), pending(std::move(count)) {}
  ~Pending() {
    if (done) Complete(base::Fail(Code::kUnavailable, "stopped while a review was to be retried"));
  }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  void Complete(base::Result<json::object> result) {
    --*pending;
    std::exchange(done, nullptr)(std::move(result));
  }

  Callback done;
  std::shared_ptr<std::atomic<size_t>> pending;  // may outlive the caller
  std::string body;
  base::SteadyTime deadline;
  int attempts = 0;
  bool fresh_connection = false;
};

ReviewCaller::ReviewCaller(ApiClient& api, std::string path, const std::string& kind,
                           telemetry::Registry& registry, const base::Clock& clock,
                           std::function<double()> random, const Options& options)
    : api_(api),
      path_(std::move(path)),
      clock_(clock),
      random_(std::move(random)),
      options_(options),
      answered_(Outcome(registry, kind, "answered")),
      failed_(Outcome(registry, kind, "failed")),
      refused_(Outcome(registry, kind, "too_many")),
      retried_(Outcome(registry, kind, "retried")) {}

void ReviewCaller::Call(const json::object& review, Callback done) {
  if (pending_->fetch_add(1) >= options_.max_pending) {
    --*pending_;
    refused_.Increment();
    done(base::Fail(Code::kResourceExhausted,
                    "too many reviews wait for the API server's answer already"));
    return;
  }
  auto pending = std::make_shared<Pending>(std::move(done), pending_);
  pending->body = json::serialize(review);
  pending->deadline = clock_.Now() + options_.deadline;
  Attempt(std::move(pending));
}

void ReviewCaller::Attempt(std::shared_ptr<Pending> pending) {
  ++pending->attempts;
  const auto left = std::chrono::duration_cast<milliseconds>(pending->deadline - clock_.Now());
  ApiClient::Call call{
      .method = "POST",
      .path = path_,
      .content_type = "application/json",
      .body = pending->body,
      .timeout = std::max(milliseconds(1), std::min(options_.attempt_timeout, left)),
      .fresh_connection = pending->fresh_connection};
  api_.Send(std::move(call), [this, pending = std::move(pending)](ApiResult<json::object> answer) {
    OnAnswer(pending, std::move(answer));
  });
}

void ReviewCaller::OnAnswer(const std::shared_ptr<Pending>& pending,
                            ApiResult<json::object> answer) {
  if (answer) {
    json::value* status = answer->if_contains("status");
    if (status != nullptr && status->is_object()) {
      answered_.Increment();
      pending->Complete(std::move(status->get_object()));
    } else {
      failed_.Increment();
      pending->Complete(base::Fail(Code::kInternal, "a review came back without a status"));
    }
    return;
  }
  double backoff = static_cast<double>(options_.backoff.count());
  for (int i = 1; i < pending->attempts; ++i) backoff *= kBackoffFactor;
  const milliseconds delay(static_cast<int64_t>(backoff * (1 + 0.2 * random_())));
  const bool retry = MayHelpToRetry(answer.error()) && pending->attempts < options_.max_attempts &&
                     clock_.Now() + delay < pending->deadline && !api_.http().stopped();
  if (!retry) {
    failed_.Increment();
    pending->Complete(std::unexpected(std::move(answer.error().error)));
    return;
  }
  retried_.Increment();
  pending->fresh_connection = answer.error().http_status == 0;
  api_.http().RunAfter(delay, [this, pending] { Attempt(pending); });
}

ApiTokenReviewer::ApiTokenReviewer(ApiClient& api, telemetry::Registry& registry,
                                   const base::Clock& clock, std::function<double()> random,
                                   const ReviewCaller::Options& options)
    : caller_(api, "/apis/authentication.k8s.io/v1/tokenreviews", "token", registry, clock,
              std::move(random), options) {}

void ApiTokenReviewer::Review(std::string token, Callback done) {
  const json::object review{{"kind", "TokenReview"},
                            {"apiVersion", "authentication.k8s.io/v1"},
                            {"spec", json::object{{"token", token}}}};
  caller_.Call(review, [done = std::move(done)](base::Result<json::object> status) mutable {
    if (!status) {
      done(std::unexpected(std::move(status.error())));
      return;
    }
    const json::value* authenticated = status->if_contains("authenticated");
    const json::object* user = FindObject(*status, {"user"});
    const std::string_view name = FindString(*status, {"user", "username"});
    if (authenticated == nullptr || !authenticated->is_bool() || !authenticated->get_bool() ||
        user == nullptr || name.empty()) {
      done(std::nullopt);
      return;
    }
    UserInfo info;
    info.name = name;
    info.uid = FindString(*user, {"uid"});
    if (const json::value* groups = user->if_contains("groups")) info.groups = ReadStrings(*groups);
    if (const json::object* extra = FindObject(*user, {"extra"})) {
      for (const auto& [key, values] : *extra) {
        info.extra.emplace_back(std::string_view(key), ReadStrings(values));
      }
    }
    done(std::move(info));
  });
}

ApiAccessReviewer::ApiAccessReviewer(ApiClient& api, telemetry::Registry& registry,
                                     const base::Clock& clock, std::function<double()> random,
                                     const ReviewCaller::Options& options)
    : caller_(api, "/apis/authorization.k8s.io/v1/subjectaccessreviews", "access", registry, clock,
              std::move(random), options) {}

void ApiAccessReviewer::Review(AccessAttributes attributes, Callback done) {
  json::object extra;
  for (const auto& [key, values] : attributes.user.extra) extra[key] = Strings(values);
  json::object spec{{"user", attributes.user.name},
                    {"uid", attributes.user.uid},
                    {"groups", Strings(attributes.user.groups)},
                    {"extra", std::move(extra)}};
  if (const auto& resource = attributes.resource) {
    spec["resourceAttributes"] =
        json::object{{"namespace", resource->ns},      {"verb", attributes.verb},
                     {"group", resource->group},       {"version", resource->version},
                     {"resource", resource->resource}, {"subresource", resource->subresource},
                     {"name", resource->name}};
  } else {
    spec["nonResourceAttributes"] =
        json::object{{"path", attributes.path}, {"verb", attributes.verb}};
  }
  const json::object review{{"kind", "SubjectAccessReview"},
                            {"apiVersion", "authorization.k8s.io/v1"},
                            {"spec", std::move(spec)}};
  caller_.Call(review, [done = std::move(done)](base::Result<json::object> status) mutable {
    if (!status) {
      done(std::unexpected(std::move(status.error())));
      return;
    }
    const auto is_true = [&status](std::string_view key) {
      const json::value* value = status->if_contains(key);
      return value != nullptr && value->is_bool() && value->get_bool();
    };
    done(AccessDecision{.allowed = is_true("allowed") && !is_true("denied"),
                        .reason = std::string(FindString(*status, {"reason"}))});
  });
}

}  // namespace activescale::kube
