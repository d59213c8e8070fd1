#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <boost/json/object.hpp>

#include "base/clock.h"
#include "kube/api_client.h"
#include "kube/reviews.h"
#include "telemetry/registry.h"

namespace activescale::kube {

/// Asks the API server reviews of one kind: a bounded number at a time, each within a deadline,
/// again with a backoff where that can help. Threads: any.
/// Source: kubernetes/apiserver:pkg/util/webhook/webhook.go, 5 steps from 0.5 s by factor 1.5.
class ReviewCaller {
 public:
  struct Options {
    std::chrono::milliseconds deadline{10'000};
    std::chrono::milliseconds attempt_timeout{5'000};
    std::chrono::milliseconds backoff{500};
    int max_attempts = 5;
    size_t max_pending = 256;  // more are refused
  };
  using Callback = std::move_only_function<void(base::Result<boost::json::object>)>;

  /// `path` is where reviews of this kind are made; `kind` is for metrics: "token", "access".
  ReviewCaller(ApiClient& api, std::string path, const std::string& kind,
               telemetry::Registry& registry, const base::Clock& clock,
               std::function<double()> random, const Options& options);

  /// Makes a review and hands out its `status`. Errors: as TokenReviewer's.
  void Call(const boost::json::object& review, Callback done);

 private:
  struct Pending;
  void Attempt(std::shared_ptr<Pending> pending);
  void OnAnswer(const std::shared_ptr<Pending>& pending, ApiResult<boost::json::object> answer);

  ApiClient& api_;
  const std::string path_;
  const base::Clock& clock_;
  const std::function<double()> random_;
  const Options options_;
  const std::shared_ptr<std::atomic<size_t>> pending_ = std::make_shared<std::atomic<size_t>>(0);
  telemetry::Counter& answered_;
  telemetry::Counter& failed_;
  telemetry::Counter& refused_;
  telemetry::Counter& retried_;
};

/// TokenReview by the API server.
class ApiTokenReviewer final : public TokenReviewer {
 public:
  ApiTokenReviewer(ApiClient& api, telemetry::Registry& registry, const base::Clock& clock,
                   std::function<double()> random, const ReviewCaller::Options& options = {});
  void Review(std::string token, Callback done) override;

 private:
  ReviewCaller caller_;
};

/// SubjectAccessReview by the API server.
class ApiAccessReviewer final : public AccessReviewer {
 public:
  ApiAccessReviewer(ApiClient& api, telemetry::Registry& registry, const base::Clock& clock,
                    std::function<double()> random, const ReviewCaller::Options& options = {});
  void Review(AccessAttributes attributes, Callback done) override;

 private:
  ReviewCaller caller_;
};

}  // namespace activescale::kube
