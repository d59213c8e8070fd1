#pragma once

#include <functional>
#include <string>
#include <thread>

namespace activescale::app {

/// A named thread that is joined when this object goes, at the latest. All threads of ours are
/// made with it, here in app.
class Thread {
 public:
  /// `name` is what the system's tools show: at most 15 characters.
  Thread(const std::string& name, std::move_only_function<void()> run);
  ~Thread() { Join(); }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  /// Waits for the end; what makes it come is the owner's business. May be called twice.
  void Join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

}  // namespace activescale::app
