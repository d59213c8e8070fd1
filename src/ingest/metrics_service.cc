#include "ingest/metrics_service.h"

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <malloc.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"

namespace activescale::ingest {
namespace {

// After a message of this size its memory is given back to the system at once: malloc would keep
// it in the arena of a thread that may never see such a message again.
constexpr size_t kLargeMessage = size_t{4} << 20;

grpc::Status ToGrpc(const base::Error& error) {
  return {static_cast<grpc::StatusCode>(error.code), error.message};
}

/// The slices of a buffer, in place. Valid while the buffer is.
void ListSlices(grpc::ByteBuffer& buffer, std::vector<std::string_view>& slices) {
  slices.clear();
  grpc::ProtoBufferReader reader(&buffer);
  const void* data = nullptr;
  int size = 0;
  while (reader.Next(&data, &size)) {
    slices.emplace_back(static_cast<const char*>(data), static_cast<size_t>(size));
  }
}

/// What a thread of gRPC's needs for a message, kept so that a message allocates nothing.
struct Workspace {
  WireScanner scanner;
  std::vector<std::string_view> slices;
};

Workspace& ThreadWorkspace() {
  thread_local Workspace workspace;
  return workspace;
}

}  // namespace

/// There is always one read under way until Finish, and a read fails when the stream is cancelled
/// or its connection is lost: so every stream is finished by OnReadDone.
class MetricsService::Stream final : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  Stream(MetricsService& service, grpc::CallbackServerContext& context, grpc::ByteBuffer& response)
      : service_(service), context_(context), response_(response) {
    const size_t open = service_.open_streams_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (open > service_.options_.max_streams) {
      service_.ingest_.metrics().ended_too_many.Increment();
      End({grpc::StatusCode::RESOURCE_EXHAUSTED,
           "too many streams; add replicas or raise the limit of streams"});
      return;
    }
    if (service_.draining_.load(std::memory_order_relaxed)) {
      End({grpc::StatusCode::UNAVAILABLE, "shutting down"});
      return;
    }
    session_ = StreamSession::Open(service_.ingest_, context_.peer());
    Read();
  }

  void OnReadDone(bool ok) override {
    static_cast<void>(handover_.load(std::memory_order_acquire));
    if (!ok) {
      const base::Result<void> end = session_->End(!context_.IsCancelled());
      const grpc::Slice empty;  // the encoding of an empty StreamMetricsResponse
      response_ = grpc::ByteBuffer(&empty, 1);
      End(end ? grpc::Status::OK : ToGrpc(end.error()));
      return;
    }
    const base::Result<void> taken = Take();
    message_.Clear();
    if (message_bytes_ >= kLargeMessage) malloc_trim(0);
    if (!taken) {
      Warn(taken.error());
      static_cast<void>(session_->End(false));
      End(ToGrpc(taken.error()));
    } else if (service_.draining_.load(std::memory_order_relaxed)) {
      // Not closed by the sender: what is held back now may be a part of a flush.
      static_cast<void>(session_->End(false));
      End({grpc::StatusCode::UNAVAILABLE, "shutting down"});
    } else {
      Read();
    }
  }

  void OnDone() override {
    static_cast<void>(handover_.load(std::memory_order_acquire));
    service_.open_streams_.fetch_sub(1, std::memory_order_release);
    delete this;
  }

 private:
  void Read() {
    handover_.store(true, std::memory_order_release);
    StartRead(&message_);
  }
  void End(const grpc::Status& status) {
    handover_.store(true, std::memory_order_release);
    Finish(status);
  }

  /// Hands the message to the session.
  [[nodiscard]] base::Result<void> Take() {
    Workspace& workspace = ThreadWorkspace();
    ListSlices(message_, workspace.slices);
    message_bytes_ = message_.Length();
    service_.ingest_.metrics().bytes.Increment(static_cast<double>(message_bytes_));
    if (message_bytes_ > service_.options_.max_message_bytes) return TooLarge(message_bytes_);
    if (IsGzip(workspace.slices)) return TakeCompressed(workspace);
    return session_->OnMessage(workspace.scanner, workspace.slices);
  }

  [[nodiscard]] base::Result<void> TakeCompressed(Workspace& workspace) {
    InflatedMessage inflated(service_.inflate_budget_);
    auto result = inflated.Inflate(workspace.slices, service_.options_.max_message_bytes);
    message_bytes_ += inflated.held_bytes();
    if (result) return session_->OnMessage(workspace.scanner, inflated.slices());
    (result.error().code == base::Code::kInvalidArgument
         ? service_.ingest_.metrics().ended_bad_compression
         : service_.ingest_.metrics().ended_too_large)
        .Increment();
    return result;
  }

  [[nodiscard]] base::Result<void> TooLarge(size_t size) {
    service_.ingest_.metrics().ended_too_large.Increment();
    return base::Fail(base::Code::kResourceExhausted,
                      fmt::format("the message has {} bytes, the limit is {}; raise "
                                  "GRPC_MAX_RECV_MSG_SIZE, or lower batch_size in Envoy's sink",
                                  size, service_.options_.max_message_bytes));
  }

  void Warn(const base::Error& error) {
    if (!service_.ended_warning_.Pass(service_.ingest_.clock().Now())) return;
    LOG_WARNING("ended the stream of {}: {}", session_->Who(), error.message);
  }

  MetricsService& service_;
  grpc::CallbackServerContext& context_;
  grpc::ByteBuffer& response_;
  std::shared_ptr<StreamSession> session_;  // null if the stream was refused
  grpc::ByteBuffer message_;
  // gRPC orders the reactions of a stream, in a way that the thread sanitizer cannot see; this way
  // it can, and it costs no instruction on x86-64 that orders memory.
  std::atomic<bool> handover_{false};
  size_t message_bytes_ = 0;  // that the last message took, as it came and inflated
};

MetricsService::MetricsService(MetricsServiceOptions options, Ingest& ingest)
    : options_(options), ingest_(ingest), inflate_budget_(options.max_inflated_bytes) {}

// Goes behind the end of the last stream, which the server waited for.
MetricsService::~MetricsService() {
  static_cast<void>(open_streams_.load(std::memory_order_acquire));
}

grpc::ServerReadReactor<grpc::ByteBuffer>* MetricsService::StreamMetrics(
    grpc::CallbackServerContext* context, grpc::ByteBuffer* response) {
  return new Stream(*this, *context, *response);  // deletes itself in OnDone
}

}  // namespace activescale::ingest
