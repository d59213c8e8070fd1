// Any text as a scrape, in both formats.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "source/exposition.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using activescale::source::ExpositionFormat;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto format : {ExpositionFormat::kPrometheusText, ExpositionFormat::kOpenMetrics}) {
    activescale::source::ExpositionParser parser(text, format);
    activescale::source::ExposedSample sample;
    size_t samples = 0;
    while (true) {
      const auto more = parser.Next(sample);
      if (!more) {
        // A message always says where.
        if (!more.error().message.starts_with("line ")) std::abort();
        break;
      }
      if (!*more) break;
      // Each sample takes at least "a 1".
      if (sample.name.empty() || ++samples * 3 > size) std::abort();
      if (sample.series.data() < text.data() ||
          sample.series.data() + sample.series.size() > text.data() + size) {
        std::abort();
      }
      (void)activescale::source::Unescape(sample.name);
    }
  }
  return 0;
}
