#pragma once

#include <memory>
#include <utility>

#include "base/mutex.h"

namespace activescale::base {

/// An immutable value that one thread replaces and many read: configuration, pods, TLS contexts.
/// A reader keeps what it got for as long as it holds the pointer. Threads: any.
/// A mutex and a shared_ptr on purpose: std::atomic<std::shared_ptr> of libstdc++ 12 reports
/// races under the thread sanitizer.
template <typename T>
class Snapshot {
 public:
  explicit Snapshot(std::shared_ptr<const T> value = nullptr) : value_(std::move(value)) {}

  /// The current value; null only if none was ever set.
  [[nodiscard]] std::shared_ptr<const T> Get() const {
    MutexLock lock(mutex_);
    return value_;
  }

  void Set(std::shared_ptr<const T> value) {
    MutexLock lock(mutex_);
    value_.swap(value);
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const T> value_ GUARDED_BY(mutex_);
};

}  // namespace activescale::base
