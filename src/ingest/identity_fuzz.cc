#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "ingest/identity.h"

namespace activescale::ingest {
namespace {

/// Whatever a node says, a pod that is accepted has a name and a namespace of bounded length
/// without any byte that could lead a path or a key astray.
void Check(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Node by_id;
  by_id.id = text;
  Node by_name;
  const size_t cut = text.find('\n');
  by_name.ns = text.substr(0, cut);
  by_name.name = cut == std::string::npos ? "" : text.substr(cut + 1);
  by_name.labels = {{text, "value"}, {"key", text}};
  for (Node* node : {&by_id, &by_name}) {
    const base::Result<Identity> identity = IdentityOf(*node);
    if (!identity) {
      if (identity.error().message.size() > 1'000) std::abort();
      continue;
    }
    const metric::PodKey& pod = identity->pod;
    if (pod.ns.empty() || pod.ns.size() > 63 || pod.name.empty() || pod.name.size() > 253) {
      std::abort();
    }
    if ((pod.ns + pod.name).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") !=
        std::string::npos) {
      std::abort();
    }
  }
}

}  // namespace
}  // namespace activescale::ingest

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  activescale::ingest::Check(data, size);
  return 0;
}
