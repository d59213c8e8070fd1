#include "ingest/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

namespace activescale::ingest {
namespace {

constexpr size_t kBlockBytes = 65'536;

// RFC 1952, section 2.3.1.
constexpr unsigned char kMagic[] = {0x1F, 0x8B};

// Source: zlib.h at inflateInit2: the largest window, and 16 for gzip alone.
constexpr int kGzipWindowBits = MAX_WBITS + 16;

/// zlib's state for one message.
class Inflater {
 public:
  Inflater() { ready_ = inflateInit2(&stream_, kGzipWindowBits) == Z_OK; }
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  [[nodiscard]] bool ready() const { return ready_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool ready_ = false;
};

}  // namespace

bool IsGzip(Slices message) {
  size_t matched = 0;
  for (const std::string_view slice : message) {
    for (const char c : slice) {
      if (static_cast<unsigned char>(c) != kMagic[matched]) return false;
      if (++matched == std::size(kMagic)) return true;
    }
  }
  return false;
}

InflatedMessage::~InflatedMessage() { budget_.Give(held_bytes()); }

size_t InflatedMessage::held_bytes() const { return blocks_.size() * kBlockBytes; }

base::Result<char*> InflatedMessage::AddBlock() {
  if (!budget_.Take(kBlockBytes)) {
    return base::Fail(base::Code::kResourceExhausted,
                      "too many compressed messages at once; send them uncompressed");
  }
  blocks_.push_back(std::make_unique_for_overwrite<char[]>(kBlockBytes));
  return blocks_.back().get();
}

base::Result<void> InflatedMessage::Inflate(Slices compressed, size_t max_bytes) {
  Inflater inflater;
  if (!inflater.ready()) return base::Fail(base::Code::kResourceExhausted, "zlib has no memory");
  z_stream& stream = inflater.stream();
  int status = Z_OK;
  for (const std::string_view slice : compressed) {
    if (slice.empty()) continue;
    // zlib does not write to its input; its type predates const.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(slice.data()));
    stream.avail_in = static_cast<uInt>(slice.size());
    do {
      if (stream.avail_out == 0) {
        const base::Result<char*> block = AddBlock();
        if (!block) return std::unexpected(block.error());
        stream.next_out = reinterpret_cast<Bytef*>(*block);
        stream.avail_out = kBlockBytes;
      }
      status = inflate(&stream, Z_NO_FLUSH);
      if (stream.total_out > max_bytes) {
        return base::Fail(base::Code::kResourceExhausted,
                          fmt::format("the compressed message is larger than {} bytes when "
                                      "inflated; raise GRPC_MAX_RECV_MSG_SIZE or send less",
                                      max_bytes));
      }
    } while (status == Z_OK && (stream.avail_in > 0 || stream.avail_out == 0));
    if (status == Z_BUF_ERROR) status = Z_OK;  // all that the input gives is out
    if (status != Z_OK) break;
  }
  size_t compressed_bytes = 0;
  for (const std::string_view slice : compressed) compressed_bytes += slice.size();
  if (status != Z_STREAM_END || stream.total_in != compressed_bytes) {
    return base::Fail(base::Code::kInvalidArgument, "the compressed message is not valid gzip");
  }
  size_ = stream.total_out;
  size_t left = size_;
  for (const auto& block : blocks_) {
    const size_t used = std::min(left, kBlockBytes);
    slices_.emplace_back(block.get(), used);
    left -= used;
  }
  return {};
}

}  // namespace activescale::ingest
