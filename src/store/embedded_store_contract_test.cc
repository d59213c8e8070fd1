#include "base/testing/fake_clock.h"
#include "store/embedded_store.h"
#include "store/testing/sample_store_contract.h"

namespace activescale::store {
namespace {

class EmbeddedHarness {
 public:
  SampleStore& store() { return store_; }
  [[nodiscard]] std::chrono::nanoseconds ttl() const { return std::chrono::seconds(20); }
  [[nodiscard]] base::SteadyTime Now() const { return clock_.Now(); }
  void Advance(std::chrono::nanoseconds by) { clock_.Advance(by); }
  void Settle() {}
  base::Result<ReadResult> Read(const std::vector<metric::PodKey>& pods, metric::MetricKind kind) {
    base::Result<ReadResult> got;
    store_.Read(pods, kind, [&](base::Result<ReadResult> result) { got = std::move(result); });
    return got;
  }
  base::Result<ReadAllResult> ReadAll(const std::vector<metric::PodKey>& pods) {
    base::Result<ReadAllResult> got;
    store_.ReadAll(pods, [&](base::Result<ReadAllResult> result) { got = std::move(result); });
    return got;
  }

 private:
  base::FakeClock clock_;
  telemetry::Registry registry_;
  EmbeddedStore store_{{.ttl = ttl()}, clock_, registry_};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Embedded, SampleStoreContract, EmbeddedHarness);

}  // namespace
}  // namespace activescale::store
