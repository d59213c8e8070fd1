// Any text as a query: read in both dialects, and evaluated with little when it can be read.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/testing/fake_clock.h"
#include "promql/engine.h"
#include "promql/parser.h"
#include "promql/testing/fixed_source.h"

namespace {

using activescale::promql::Dialect;
using activescale::promql::EngineOptions;

activescale::promql::FixedSource MakeSource() {
  activescale::promql::FixedSource source;
  for (const char* name : {"a", "b", "c", "a_bucket"}) {
    for (const char* value : {"x", "0.5"}) {
      source.Add(activescale::metric::Labels({{"__name__", name}, {"n", value}, {"le", value}}),
                 {{1'699'999'900'000, 1}, {1'699'999'960'000, 4}, {1'700'000'000'000, 2}});
    }
  }
  return source;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto source = MakeSource();
  static const activescale::base::FakeClock clock;
  const std::string_view query(reinterpret_cast<const char*>(data), size);
  for (const Dialect dialect : {Dialect::kPrometheus3, Dialect::kPrometheus2}) {
    const EngineOptions options{.dialect = dialect, .max_samples = 20'000};
    const activescale::promql::Engine engine(options, source, clock);
    const auto expr = activescale::promql::Parse(query, dialect);
    if (!expr) {
      // A message always says where.
      if (!expr.error().message.contains(": parse error: ")) std::abort();
      continue;
    }
    if ((*expr)->position.end > size || (*expr)->depth > activescale::promql::kMaxDepth)
      std::abort();
    (void)engine.Evaluate(**expr, {1'700'000'000'000, 1'700'000'060'000, 0});
    (void)engine.Evaluate(**expr, {1'700'000'000'000, 1'700'000'060'000, 15'000});
  }
  return 0;
}
