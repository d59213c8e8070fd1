#ifndef ACTIVESCALE_BENCH_FLOOR_CHANNEL_ARGS_H_
#define ACTIVESCALE_BENCH_FLOOR_CHANNEL_ARGS_H_

#include <grpcpp/server_builder.h>

namespace activescale::bench {

/// Gives `builder` the transport settings that `activescale serve` uses by default, so that floor
/// and product differ only in what they do with a message. Keep in step with src/ingest.
inline void ConfigureTransport(grpc::ServerBuilder& builder) {
  constexpr int kMaxReceiveBytes = 32 * 1024 * 1024;
  constexpr int kStreamLookaheadBytes = 65536;
  builder.SetMaxReceiveMessageSize(kMaxReceiveBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kStreamLookaheadBytes);
}

}  // namespace activescale::bench

#endif  // ACTIVESCALE_BENCH_FLOOR_CHANNEL_ARGS_H_
