#include "app/signals.h"

#include <pthread.h>

namespace activescale::app {

TerminationSignal::TerminationSignal() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

int TerminationSignal::Wait() {
  int signal = 0;
  while (sigwait(&signals_, &signal) != 0) {
  }
  Release();
  return signal;
}

void TerminationSignal::Release() { pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr); }

}  // namespace activescale::app
