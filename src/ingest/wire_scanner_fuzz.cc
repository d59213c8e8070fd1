#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "ingest/identity.h"
#include "ingest/testing/message_generator.h"
#include "ingest/wire_scanner.h"

namespace activescale::ingest {
namespace {

/// What a message said, so that two readings of it can be compared.
std::string Reading(WireScanner& scanner, Slices slices) {
  const ScannedMessage* message = scanner.Scan(slices, true);
  if (message == nullptr) return "refused";
  std::string reading = std::to_string(message->skipped_families) + "/" +
                        std::to_string(message->timestamp_ms.value_or(0));
  for (const std::string_view name : message->skipped_names) reading.append(name) += ';';
  for (const ScannedFamily& family : message->families) {
    reading.append(family.name) += ':';
    for (const ScannedSample& sample : message->SamplesOf(family)) {
      reading += std::to_string(sample.gauge.value_or(-1)) + ',';
      for (const metric::LabelView& label : message->LabelsOf(sample)) {
        reading.append(label.name).append(label.value);
      }
    }
  }
  if (std::optional<Node> node = DecodeNode(message->identifiers)) {
    const base::Result<Identity> identity = IdentityOf(*std::move(node));
    reading += identity ? identity->pod.ns + "/" + identity->pod.name : identity.error().message;
  }
  return reading;
}

/// The first byte says how the rest is cut; the cut must not change what is read.
void Check(const uint8_t* data, size_t size) {
  if (size == 0) return;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Fragments whole(bytes, 0);
  const Fragments cut(bytes, 1 + data[0] % 32);
  WireScanner scanner;
  if (Reading(scanner, whole.slices()) != Reading(scanner, cut.slices())) std::abort();
}

}  // namespace
}  // namespace activescale::ingest

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  activescale::ingest::Check(data, size);
  return 0;
}
