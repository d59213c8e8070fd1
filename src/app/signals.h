#pragma once

#include <csignal>

namespace activescale::app {

/// SIGTERM and SIGINT as something to wait for, instead of something that interrupts.
/// Make it before the process has other threads: they inherit the blocked signals.
class TerminationSignal {
 public:
  TerminationSignal();
  ~TerminationSignal() { Release(); }
  TerminationSignal(const TerminationSignal&) = delete;
  TerminationSignal& operator=(const TerminationSignal&) = delete;

  /// Blocks until one comes and returns it. From then on the next one has its default effect: it
  /// kills the process at once, whatever the shutdown waits for.
  int Wait();

 private:
  void Release();

  sigset_t signals_;
};

}  // namespace activescale::app
