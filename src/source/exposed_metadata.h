#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "series/metadata_book.h"
#include "source/exposition.h"

namespace activescale::source {

/// Tells whether two texts say the same of their metrics, without keeping anything of them.
class MetadataDigest {
 public:
  /// `ns`: of the target.
  explicit MetadataDigest(std::string_view ns) { Fold(ns); }

  void Add(const ExposedComment& comment);

  [[nodiscard]] uint64_t value() const { return value_; }
  /// About what a page of it takes.
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  void Fold(std::string_view text);

  uint64_t value_ = 0;
  size_t bytes_ = 0;
};

/// What a text that the parser takes tells of its metrics; of what it tells twice, the last.
[[nodiscard]] series::MetadataPage ReadMetadata(std::string_view text, ExpositionFormat format,
                                                std::string_view ns);

}  // namespace activescale::source
