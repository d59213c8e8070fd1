// Any bytes as a request by remote_write, compressed and not.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/testing/fake_clock.h"
#include "source/remote_write.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace source = activescale::source;
  const activescale::base::FakeClock clock;
  activescale::series::SeriesStore store({}, clock);
  activescale::telemetry::Registry registry;
  source::RemoteWrite write(store, registry);
  (void)store.Select({}, 0, 0);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)write.Take(bytes);
  activescale::net::HttpRequest request{.method = "POST", .target = "/api/v1/write"};
  request.headers = {{"Content-Encoding", "snappy"}, {"Content-Type", "application/x-protobuf"}};
  request.body = bytes;
  const int status = write.Answer(request).status;
  if (status != 204 && status != 400 && status != 413) std::abort();
  return 0;
}
