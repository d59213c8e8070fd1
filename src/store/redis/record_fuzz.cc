// What is taken for a record is one that we could have written: written again and read again, it is
// the same, and under another key its samples are refused.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "store/redis/record.h"

namespace activescale::store {
namespace {

constexpr std::string_view kKey = "activescale:{shop/7}:web-0";

void Check(std::string_view bytes) {
  const auto record = ParseRecord(bytes, kKey);
  if (!record) return;
  const std::string again = FormatRecord(*record, kKey);
  const auto reread = ParseRecord(again, kKey);
  if (!reread || FormatRecord(*reread, kKey) != again) std::abort();
  bool has_sample = false;
  for (const Record::Sample& sample : record->samples) {
    has_sample = has_sample || sample.at != StoredTime();
  }
  if (has_sample && ParseRecord(again, "activescale:{shop/7}:web-1")) std::abort();
}

}  // namespace
}  // namespace activescale::store

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  activescale::store::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
