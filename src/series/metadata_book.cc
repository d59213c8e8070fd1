#include "series/metadata_book.h"

namespace activescale::series {

std::shared_ptr<const MetadataPage> MetadataBook::Share(uint64_t digest, size_t bytes,
                                                        const std::function<MetadataPage()>& make) {
  base::MutexLock lock(mutex_);
  const auto known = entries_.find(digest);
  if (known != entries_.end()) {
    if (auto page = known->second.page.lock()) return page;
  }
  std::erase_if(entries_, [](const auto& entry) { return entry.second.page.expired(); });
  size_t used = 0;
  for (const auto& [other, entry] : entries_) used += entry.bytes;
  if (bytes > kMaxBytes - used) return nullptr;
  auto page = std::make_shared<const MetadataPage>(make());
  entries_[digest] = {bytes, page};
  return page;
}

std::vector<std::shared_ptr<const MetadataPage>> MetadataBook::Pages() const {
  base::MutexLock lock(mutex_);
  std::vector<std::shared_ptr<const MetadataPage>> pages;
  for (const auto& [digest, entry] : entries_) {
    if (auto page = entry.page.lock()) pages.push_back(std::move(page));
  }
  return pages;
}

}  // namespace activescale::series
