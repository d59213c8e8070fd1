#include "metricsapi/authenticator.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "metricsapi/request_header.h"
#include "net/digest.h"

namespace activescale::metricsapi {

namespace {

using base::Code;
using base::Fail;
using base::Result;
using kube::UserInfo;

/// Source: kubernetes/apiserver:pkg/authentication/user/user.go.
constexpr std::string_view kAnonymousUser = "system:anonymous";
constexpr std::string_view kUnauthenticatedGroup = "system:unauthenticated";
constexpr std::string_view kAuthenticatedGroup = "system:authenticated";

constexpr size_t kMaxTokens = 1024;

constexpr std::array<std::string_view, 4> kMethodNames = {"request_header", "certificate", "token",
                                                          "anonymous"};

/// A verifier of these authorities, or the one that was used before if they do not parse.
std::shared_ptr<net::ClientCertificateVerifier> MakeVerifier(
    const std::string& authorities_pem, std::shared_ptr<net::ClientCertificateVerifier> before,
    std::string_view what, telemetry::Counter& broken) {
  if (authorities_pem.empty()) return nullptr;
  auto verifier = net::ClientCertificateVerifier::FromPem(authorities_pem);
  if (verifier) return *std::move(verifier);
  broken.Increment();
  LOG_WARNING(
      "the {} in ConfigMap extension-apiserver-authentication is unusable and the one "
      "before stays in use: {}",
      what, verifier.error().message);
  return before;
}

}  // namespace

Authenticator::Authenticator(ConfigSource config, kube::TokenReviewer& tokens,
                             const base::Clock& clock, telemetry::Registry& registry,
                             const Options& options)
    : config_(std::move(config)),
      tokens_(tokens),
      clock_(clock),
      options_(options),
      token_cache_(clock, options.token_ttl, kMaxTokens),
      broken_authorities_(registry.AddCounter(
          "activescale_authentication_broken_authorities_total",
          "Certificate authorities published by kube-apiserver that did not parse")) {
  for (size_t i = 0; i < kMethods; ++i) {
    const auto counter = [&](const char* result) {
      return &registry.AddCounter("activescale_authentications_total",
                                  "Requests by how their sender was found out",
                                  {{"method", std::string(kMethodNames[i])}, {"result", result}});
    };
    accepted_[i] = counter("accepted");
    refused_[i] = counter("refused");
  }
}

void Authenticator::Authenticate(const net::HttpRequest& request, Callback done) {
  const std::shared_ptr<const Trust> trust = CurrentTrust();
  if (!trust && !options_.tolerate_lookup_failure) {
    return done(Fail(Code::kUnavailable,
                     "cannot tell who asks: ConfigMap kube-system/"
                     "extension-apiserver-authentication has not been read yet; check the Role "
                     "extension-apiserver-authentication-reader"));
  }
  std::optional<Result<UserInfo>> by_certificate;
  if (trust) by_certificate = ByCertificate(request, *trust);
  if (by_certificate && *by_certificate) return done(*std::move(by_certificate));
  // A good token outweighs a bad certificate, as in kube-apiserver.
  if (const auto token = ReadBearerToken(request)) {
    return ByToken(std::string(*token), std::move(done));
  }
  if (by_certificate) return done(Refuse(kCertificate, by_certificate->error().message));
  done(Accept(kAnonymous, {.name = std::string(kAnonymousUser),
                           .uid = {},
                           .groups = {std::string(kUnauthenticatedGroup)},
                           .extra = {}}));
}

std::shared_ptr<const Authenticator::Trust> Authenticator::CurrentTrust() {
  auto config = config_();
  base::MutexLock lock(mutex_);
  if (config && (!trust_ || trust_->config != config)) {
    const Trust before = trust_ ? *trust_ : Trust{};
    auto next = std::make_shared<Trust>();
    next->aggregator = MakeVerifier(config->request_header_ca_pem, before.aggregator,
                                    "requestheader-client-ca-file", broken_authorities_);
    next->clients =
        MakeVerifier(config->client_ca_pem, before.clients, "client-ca-file", broken_authorities_);
    next->config = std::move(config);
    trust_ = std::move(next);
  }
  return trust_;
}

std::optional<Result<UserInfo>> Authenticator::ByCertificate(const net::HttpRequest& request,
                                                             const Trust& trust) {
  if (!request.peer_certificate || request.peer_certificate->chain_pem.empty()) return {};
  std::string reasons;
  const auto add_reason = [&reasons](std::string_view by, const base::Error& error) {
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", by, error.message);
  };
  if (trust.aggregator) {
    auto user = ByRequestHeader(request, trust);
    if (user) return Accept(kRequestHeader, *std::move(user));
    add_reason("as the aggregator", user.error());
  }
  if (trust.clients) {
    auto user = ByClientCertificate(request.peer_certificate->chain_pem, trust);
    if (user) return Accept(kCertificate, *std::move(user));
    add_reason("as a client", user.error());
  }
  if (reasons.empty()) return {};
  return Fail(Code::kUnauthenticated, std::move(reasons));
}

Result<UserInfo> Authenticator::ByRequestHeader(const net::HttpRequest& request,
                                                const Trust& trust) const {
  const auto subject =
      trust.aggregator->Verify(request.peer_certificate->chain_pem, clock_.WallNow());
  if (!subject) return std::unexpected(subject.error());
  const auto& allowed = trust.config->allowed_names;
  if (!allowed.empty() && std::ranges::find(allowed, subject->common_name) == allowed.end()) {
    return Fail(Code::kUnauthenticated,
                fmt::format("the name \"{}\" is not among the allowed ones ({})",
                            subject->common_name, fmt::join(allowed, ", ")));
  }
  auto user = ReadRequestHeaderUser(request, *trust.config);
  if (!user) return Fail(Code::kUnauthenticated, "its headers name no user");
  return *std::move(user);
}

Result<UserInfo> Authenticator::ByClientCertificate(const std::string& chain_pem,
                                                    const Trust& trust) const {
  auto subject = trust.clients->Verify(chain_pem, clock_.WallNow());
  if (!subject) return std::unexpected(subject.error());
  if (subject->common_name.empty()) {
    return Fail(Code::kUnauthenticated, "the client certificate has no common name");
  }
  return UserInfo{.name = std::move(subject->common_name),
                  .uid = {},
                  .groups = std::move(subject->organizations),
                  .extra = {}};
}

void Authenticator::ByToken(std::string token, Callback done) {
  std::string key = net::Sha256(token);
  token_cache_.Get(
      std::move(key),
      [this, token = std::move(token)](auto answer) mutable {
        tokens_.Review(std::move(token), std::move(answer));
      },
      [this, done = std::move(done)](Result<std::optional<UserInfo>> user) mutable {
        if (!user) {
          return done(
              Refuse(kToken, "the bearer token could not be reviewed: " + user.error().message));
        }
        if (!*user) return done(Refuse(kToken, "the bearer token is not valid"));
        done(Accept(kToken, **std::move(user)));
      });
}

Result<UserInfo> Authenticator::Accept(Method method, UserInfo user) {
  accepted_[method]->Increment();
  const auto has = [&user](std::string_view group) {
    return std::ranges::find(user.groups, group) != user.groups.end();
  };
  if (!has(kAuthenticatedGroup) && !has(kUnauthenticatedGroup)) {
    user.groups.emplace_back(kAuthenticatedGroup);
  }
  return user;
}

Result<UserInfo> Authenticator::Refuse(Method method, std::string reason) {
  refused_[method]->Increment();
  return Fail(Code::kUnauthenticated, "Unauthorized: " + std::move(reason));
}

}  // namespace activescale::metricsapi
