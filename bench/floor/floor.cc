// The floor of the ingest benchmarks: a gRPC server that receives StreamMetrics as raw bytes,
// counts them and does nothing else. Usage: floor PORT. Ends on SIGTERM or SIGINT.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "bench/floor/channel_args.h"

namespace activescale::bench {
namespace {

struct Totals {
  std::atomic<std::uint64_t> messages = 0;
  std::atomic<std::uint64_t> bytes = 0;
};

/// Reads one stream to its end, then answers with an empty message. Deletes itself.
class CountingReactor : public grpc::ServerGenericBidiReactor {
 public:
  explicit CountingReactor(Totals& totals) : totals_(totals) { StartRead(&message_); }

  void OnReadDone(bool ok) override {
    if (!ok) {
      StartWriteAndFinish(&response_, grpc::WriteOptions(), grpc::Status::OK);
      return;
    }
    totals_.messages.fetch_add(1, std::memory_order_relaxed);
    totals_.bytes.fetch_add(message_.Length(), std::memory_order_relaxed);
    message_.Clear();  // or each idle stream would hold its last message
    StartRead(&message_);
  }

  void OnDone() override { delete this; }

 private:
  Totals& totals_;
  grpc::ByteBuffer message_;
  grpc::Slice empty_;
  grpc::ByteBuffer response_{&empty_, 1};
};

class CountingService : public grpc::CallbackGenericService {
 public:
  explicit CountingService(Totals& totals) : totals_(totals) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* /*context*/) override {
    return new CountingReactor(totals_);
  }

 private:
  Totals& totals_;
};

int Main(const std::string& port) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  Totals totals;
  CountingService service(totals);
  grpc::ServerBuilder builder;
  ConfigureTransport(builder);
  builder.AddListeningPort("127.0.0.1:" + port, grpc::InsecureServerCredentials());
  builder.RegisterCallbackGenericService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::fprintf(stderr, "floor: cannot listen on 127.0.0.1:%s\n", port.c_str());
    return 1;
  }
  int received = 0;
  sigwait(&signals, &received);
  std::printf("messages=%llu bytes=%llu\n", static_cast<unsigned long long>(totals.messages),
              static_cast<unsigned long long>(totals.bytes));
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}

}  // namespace
}  // namespace activescale::bench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: floor PORT\n");
    return 2;
  }
  return activescale::bench::Main(argv[1]);
}
