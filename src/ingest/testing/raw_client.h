#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>

namespace activescale::ingest {

/// A StreamMetrics stream whose messages are any bytes. Each step has a deadline of its own.
/// Threads: one at a time.
class RawStream {
 public:
  explicit RawStream(const std::shared_ptr<grpc::Channel>& channel,
                     grpc_compression_algorithm compression = GRPC_COMPRESS_NONE)
      : stub_(channel) {
    context_.set_compression_algorithm(compression);
    call_ = stub_.PrepareCall(&context_, "/envoy.service.metrics.v3.MetricsService/StreamMetrics",
                              &queue_);
    call_->StartCall(this);
    Wait();
  }

  ~RawStream() {
    context_.TryCancel();
    if (!finished_) static_cast<void>(Finish());
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  RawStream(const RawStream&) = delete;
  RawStream& operator=(const RawStream&) = delete;

  /// False if the stream is over.
  bool Write(const std::string& bytes) {
    const grpc::Slice slice(bytes);
    call_->Write(grpc::ByteBuffer(&slice, 1), this);
    return Wait();
  }
  void CloseWrites() {
    call_->WritesDone(this);
    Wait();
  }
  void Cancel() { context_.TryCancel(); }

  /// What the stream ended with; DEADLINE_EXCEEDED if it did not end.
  grpc::Status Finish() {
    grpc::ByteBuffer response;
    for (bool ok = true; ok;) {  // the status comes behind all responses
      call_->Read(&response, this);
      ok = Wait();
    }
    grpc::Status status(grpc::StatusCode::DEADLINE_EXCEEDED, "the stream did not end");
    finished_ = true;
    call_->Finish(&status, this);
    Wait();
    return status;
  }

 private:
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    const auto deadline = std::chrono::system_clock::now() + std::chrono::seconds(20);
    return queue_.AsyncNext(&tag, &ok, deadline) == grpc::CompletionQueue::GOT_EVENT && ok;
  }

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  grpc::GenericStub stub_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  bool finished_ = false;
};

}  // namespace activescale::ingest
