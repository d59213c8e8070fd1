#include "app/thread.h"

#include <pthread.h>

#include <utility>

namespace activescale::app {

Thread::Thread(const std::string& name, std::move_only_function<void()> run)
    : thread_([name, run = std::move(run)]() mutable {
        pthread_setname_np(pthread_self(), name.c_str());
        run();
      }) {}

}  // namespace activescale::app
