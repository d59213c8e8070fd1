#include "store/sample_store.h"

#include <atomic>
#include <utility>

namespace activescale::store {
namespace {

/// The answers of one Read per metric, until the last one is there.
struct Gathering {
  ReadAllCallback done;
  std::array<base::Result<ReadResult>, metric::kMetricKindCount> answers;
  std::atomic<size_t> left{metric::kMetricKindCount};
};

base::Result<ReadAllResult> Join(const Gathering& gathering) {
  ReadAllResult all;
  for (size_t kind = 0; kind < metric::kMetricKindCount; ++kind) {
    const auto& answer = gathering.answers[kind];
    if (!answer) return std::unexpected(answer.error());
    all.readings.resize(answer->readings.size());
    for (size_t i = 0; i < answer->readings.size(); ++i) {
      all.readings[i][kind] = answer->readings[i];
    }
    all.partial |= answer->partial;
  }
  return all;
}

}  // namespace

void SampleStore::ReadAll(const std::vector<metric::PodKey>& pods, ReadAllCallback done) {
  const auto gathering = std::make_shared<Gathering>();
  gathering->done = std::move(done);
  for (size_t kind = 0; kind < metric::kMetricKindCount; ++kind) {
    // Each answer has a place of its own; they may come on different threads.
    Read(pods, static_cast<metric::MetricKind>(kind),
         [gathering, kind](base::Result<ReadResult> answer) {
           gathering->answers[kind] = std::move(answer);
           if (gathering->left.fetch_sub(1) == 1) gathering->done(Join(*gathering));
         });
  }
}

}  // namespace activescale::store
