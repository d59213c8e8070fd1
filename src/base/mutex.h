#pragma once

#include <mutex>

#if defined(__clang__)
#define AS_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define AS_THREAD_ANNOTATION(x)
#endif

/// Thread-safety annotations, checked by clang's -Wthread-safety; nothing under g++.
/// Source: https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#define CAPABILITY(x) AS_THREAD_ANNOTATION(capability(x))
#define SCOPED_CAPABILITY AS_THREAD_ANNOTATION(scoped_lockable)
#undef GUARDED_BY  // Abseil's, from gRPC's headers, means the same
#define GUARDED_BY(x) AS_THREAD_ANNOTATION(guarded_by(x))
#define REQUIRES(...) AS_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define ACQUIRE(...) AS_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define RELEASE(...) AS_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define EXCLUDES(...) AS_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace activescale::base {

/// std::mutex with annotations: members say GUARDED_BY(mutex_) and clang checks it.
class CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ACQUIRE() { mutex_.lock(); }
  void Unlock() RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

/// Holds a Mutex for its own lifetime.
class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() RELEASE() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace activescale::base
