// Any request target must get an answer that a strict JSON parser takes, with a status of ours.

#include <cstdint>
#include <cstdlib>
#include <string>

#include <boost/json.hpp>

#include "metricsapi/testing/api_fixture.h"

namespace {

activescale::metricsapi::ApiFixture& Fixture() {
  static auto* fixture = [] {
    auto* made = new activescale::metricsapi::ApiFixture();
    made->AddWebPods(3, 2);
    return made;
  }();
  return *fixture;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto answer = Fixture().Ask("GET", std::string(reinterpret_cast<const char*>(data), size));
  if (!answer) std::abort();
  const int status = answer->status;
  if (status != 200 && status != 400 && status != 404) std::abort();
  if (answer->content_type != "application/json") return 0;
  boost::system::error_code error;
  const auto body = boost::json::parse(answer->body, error);
  if (error || !body.is_object()) std::abort();
  if (status != 200 && body.at("kind").as_string() != "Status") std::abort();
  return 0;
}
