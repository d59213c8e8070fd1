#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"

namespace activescale::series {

/// What is told of a metric besides its samples.
/// Source: prometheus/docs:content/docs/instrumenting/exposition_formats.md.
struct MetricMetadata {
  std::string name;
  std::string type = "unknown";  // "gauge", "counter", ...
  std::string help;
  std::string unit;

  friend auto operator<=>(const MetricMetadata&, const MetricMetadata&) = default;
};

/// What one source tells of its metrics.
struct MetadataPage {
  std::string ns;  // that its series are labelled with; may be empty
  std::vector<MetricMetadata> metrics;
};

/// The pages of all sources that there are now. Sources that tell the same share one page, so that
/// memory depends on how many programs are asked, not on how many pods run them. Threads: any.
class MetadataBook {
 public:
  /// Of all pages together.
  static constexpr size_t kMaxBytes = size_t{16} << 20;

  /// The page of that digest, made by `make`, about `bytes` long, unless a source has it already.
  /// It is in the book as long as somebody holds it. Null: there is no room.
  [[nodiscard]] std::shared_ptr<const MetadataPage> Share(uint64_t digest, size_t bytes,
                                                          const std::function<MetadataPage()>& make)
      EXCLUDES(mutex_);

  /// In no order.
  [[nodiscard]] std::vector<std::shared_ptr<const MetadataPage>> Pages() const EXCLUDES(mutex_);

 private:
  struct Entry {
    size_t bytes = 0;
    std::weak_ptr<const MetadataPage> page;
  };

  mutable base::Mutex mutex_;
  std::map<uint64_t, Entry> entries_ GUARDED_BY(mutex_);
};

}  // namespace activescale::series
