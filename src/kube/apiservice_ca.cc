#include "kube/apiservice_ca.h"

#include <fmt/format.h>

#include <utility>

#include <boost/json/serialize.hpp>

#include "base/log.h"
#include "kube/json.h"
#include "net/base64.h"
#include "net/self_signed.h"

namespace activescale::kube {
namespace {

std::string SecretText(const boost::json::object& secret, std::string_view key) {
  return net::DecodeBase64(FindString(secret, {"data", key})).value_or("");
}

constexpr std::string_view kCertificateKey = "ca.crt";
constexpr std::string_view kPrivateKeyKey = "ca.key";

}  // namespace

ApiServiceCa::ApiServiceCa(Options options, Context context)
    : options_(std::move(options)),
      context_(std::move(context)),
      failures_(
          context_.registry.AddCounter("activescale_apiservice_ca_failures_total",
                                       "Looks at the CA Secret or an APIService that failed.")),
      patches_(context_.registry.AddCounter("activescale_apiservice_ca_patches_total",
                                            "APIServices whose caBundle was written.")) {}

void ApiServiceCa::Start() {
  context_.api.http().Post([this] { Look(); });
}

telemetry::CheckResult ApiServiceCa::Health() const {
  base::MutexLock lock(mutex_);
  if (fault_.empty()) return {true, "the APIServices trust this replica's certificate"};
  return {false, fault_};
}

std::string ApiServiceCa::SecretPath() const {
  return fmt::format("/api/v1/namespaces/{}/secrets/{}", options_.ns, options_.secret);
}

void ApiServiceCa::Again(std::chrono::nanoseconds delay) {
  context_.api.http().RunAfter(delay, [this] { Look(); });
}

void ApiServiceCa::Fail(const std::string& message) {
  failures_.Increment();
  LOG_WARNING("--manage-apiservice-ca: {}", message);
  {
    base::MutexLock lock(mutex_);
    fault_ = message;
  }
  const auto jitter =
      std::chrono::duration_cast<std::chrono::nanoseconds>(options_.retry * context_.random());
  Again(options_.retry + jitter);
}

void ApiServiceCa::Fail(const std::string& what, const ApiError& error) {
  Fail(fmt::format("{}: {}", what, error.error.message));
}

void ApiServiceCa::Look() {
  context_.api.Send({.path = SecretPath()},
                    [this](ApiResult<boost::json::object> secret) { OnSecret(std::move(secret)); });
}

void ApiServiceCa::OnSecret(ApiResult<boost::json::object> secret) {
  if (!secret) {
    return Fail(fmt::format("cannot read the Secret {}/{}; it must exist (empty) and the service "
                            "account needs get and update on it",
                            options_.ns, options_.secret),
                secret.error());
  }
  const net::TlsPair authority{SecretText(*secret, kCertificateKey),
                               SecretText(*secret, kPrivateKeyKey)};
  if (authority.certificate_pem.empty() && authority.private_key_pem.empty()) {
    return MakeAuthorityIn(*std::move(secret));
  }
  const auto parsed = net::TlsContext::ForServer(authority);
  if (!parsed) {
    return Fail(
        fmt::format("the CA in the Secret {}/{} is not usable; empty its ca.crt and ca.key "
                    "to have a new one made: {}",
                    options_.ns, options_.secret, parsed.error().message));
  }
  if ((*parsed)->not_after() < context_.clock.WallNow() + kServingLifetime) {
    return MakeAuthorityIn(*std::move(secret));
  }
  UseAuthority(authority);
}

void ApiServiceCa::MakeAuthorityIn(boost::json::object secret) {
  const auto made = net::MakeAuthority(fmt::format("{}-ca", options_.service),
                                       context_.clock.WallNow(), kAuthorityLifetime);
  if (!made) return Fail(made.error().message);
  boost::json::object& data =
      secret["data"].is_object() ? secret["data"].get_object() : secret["data"].emplace_object();
  // The authority before this one stays in the bundle: other replicas still show its certificates.
  const std::string bundle = made->certificate_pem + SecretText(secret, kCertificateKey);
  data[kCertificateKey] = net::EncodeBase64(bundle);
  data[kPrivateKeyKey] = net::EncodeBase64(made->private_key_pem);
  context_.api.Send({.method = "PUT",
                     .path = SecretPath(),
                     .content_type = "application/json",
                     .body = boost::json::serialize(secret)},
                    [this](ApiResult<boost::json::object> stored) {
                      if (!stored && stored.error().reason == "Conflict") return Look();
                      if (!stored) return Fail("cannot store the CA in the Secret", stored.error());
                      LOG_INFO("made a CA and stored it in the Secret {}/{}", options_.ns,
                               options_.secret);
                      OnSecret(std::move(stored));
                    });
}

void ApiServiceCa::UseAuthority(const net::TlsPair& authority) {
  const base::WallTime now = context_.clock.WallNow();
  bundle_ = authority.certificate_pem;
  const bool due = !signed_at_ || now > *signed_at_ + kServingLifetime - kRenewBefore;
  if (due || signed_by_ != authority.certificate_pem) {
    const std::string host = options_.service + "." + options_.ns + ".svc";
    const auto pair = net::MakeSigned(authority, {host, host + ".cluster.local", "localhost"}, now,
                                      kServingLifetime);
    if (!pair) return Fail(pair.error().message);
    if (auto installed = context_.install(*pair); !installed) {
      return Fail(installed.error().message);
    }
    signed_at_ = now;
    signed_by_ = authority.certificate_pem;
    LOG_INFO("serving with a certificate for {}, signed by the CA in the Secret {}/{}", host,
             options_.ns, options_.secret);
  }
  LookAtApiService(0);
}

void ApiServiceCa::LookAtApiService(size_t index) {
  if (index == options_.api_services.size()) {
    {
      base::MutexLock lock(mutex_);
      fault_.clear();
    }
    return Again(options_.interval);
  }
  const std::string& name = options_.api_services[index];
  context_.api.Send({.path = "/apis/apiregistration.k8s.io/v1/apiservices/" + name},
                    [this, index, &name](ApiResult<boost::json::object> api_service) {
                      if (api_service) return OnApiService(index, *api_service);
                      // Not installed (yet): nothing to write, and looked at again.
                      if (api_service.error().http_status == 404)
                        return LookAtApiService(index + 1);
                      Fail("cannot read the APIService " + name, api_service.error());
                    });
}

void ApiServiceCa::OnApiService(size_t index, const boost::json::object& api_service) {
  const std::string& name = options_.api_services[index];
  const std::string_view ns = FindString(api_service, {"spec", "service", "namespace"});
  const std::string_view service = FindString(api_service, {"spec", "service", "name"});
  if (ns != options_.ns || service != options_.service) {
    LOG_WARNING(
        "--manage-apiservice-ca: the APIService {} belongs to the Service {}/{}, not to {}/{}; it "
        "is left alone",
        name, ns, service, options_.ns, options_.service);
    return LookAtApiService(index + 1);
  }
  const std::string bundle = net::EncodeBase64(bundle_);
  if (FindString(api_service, {"spec", "caBundle"}) == bundle) return LookAtApiService(index + 1);
  const boost::json::object patch = {
      {"metadata", {{"resourceVersion", FindString(api_service, {"metadata", "resourceVersion"})}}},
      {"spec", {{"caBundle", bundle}, {"insecureSkipTLSVerify", nullptr}}}};
  context_.api.Send({.method = "PATCH",
                     .path = "/apis/apiregistration.k8s.io/v1/apiservices/" + name,
                     .content_type = "application/merge-patch+json",
                     .body = boost::json::serialize(patch)},
                    [this, index, &name](ApiResult<boost::json::object> patched) {
                      if (!patched && patched.error().reason == "Conflict") {
                        return LookAtApiService(index);
                      }
                      if (!patched)
                        return Fail("cannot patch the APIService " + name, patched.error());
                      patches_.Increment();
                      LOG_INFO("wrote our CA into the APIService {}", name);
                      LookAtApiService(index + 1);
                    });
}

}  // namespace activescale::kube
