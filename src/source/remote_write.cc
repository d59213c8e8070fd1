#include "source/remote_write.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <snappy.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/json_text.h"
#include "io/prometheus/write/v1/remote.pb.h"
#include "metric/labels.h"
#include "series/matcher.h"

namespace activescale::source {
namespace {

using base::Code;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using io::prometheus::write::v1::TimeSeries;
using io::prometheus::write::v1::WriteRequest;

/// Calls `use` for each series of a WriteRequest, one in memory at a time. False if the message is
/// broken or a series too large.
template <typename Use>
bool ForEachSeries(std::string_view message, Use use) {
  CodedInputStream input(reinterpret_cast<const uint8_t*>(message.data()),
                         static_cast<int>(message.size()));
  const uint32_t series_tag = WireFormatLite::MakeTag(WriteRequest::kTimeseriesFieldNumber,
                                                      WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  TimeSeries series;
  while (const uint32_t tag = input.ReadTag()) {
    if (tag != series_tag) {
      if (!WireFormatLite::SkipField(&input, tag)) return false;
      continue;
    }
    uint32_t size = 0;
    if (!input.ReadVarint32(&size) || size > RemoteWrite::kMaxSeriesBytes) return false;
    if (size > message.size() - static_cast<size_t>(input.CurrentPosition())) return false;
    const auto limit = input.PushLimit(static_cast<int>(size));
    series.Clear();
    if (!series.MergeFromCodedStream(&input) || input.BytesUntilLimit() != 0) return false;
    input.PopLimit(limit);
    use(series);
  }
  return input.ConsumedEntireMessage();
}

/// Nothing if a label has no name or comes twice, or the series has no name.
std::optional<metric::Labels> ReadLabels(const TimeSeries& series) {
  std::vector<metric::Labels::Entry> entries;
  entries.reserve(static_cast<size_t>(series.labels_size()));
  for (const auto& label : series.labels()) {
    if (label.name().empty() || !base::IsUtf8(label.name()) || !base::IsUtf8(label.value())) {
      return std::nullopt;
    }
    if (!label.value().empty()) entries.emplace_back(label.name(), label.value());
  }
  const size_t count = entries.size();
  metric::Labels labels(std::move(entries));
  if (labels.entries().size() != count || !labels.Get(series::kNameLabel)) return std::nullopt;
  return labels;
}

std::string_view Path(const net::HttpRequest& request) {
  return std::string_view(request.target).substr(0, request.target.find('?'));
}

}  // namespace

RemoteWrite::RemoteWrite(series::SeriesStore& series, telemetry::Registry& registry)
    : series_(series),
      samples_(MakeAppendCounters(registry, "activescale_remote_write_samples_total",
                                  "Samples by remote_write, by what became of them.")),
      invalid_(registry.AddCounter("activescale_remote_write_invalid_series_total",
                                   "Series by remote_write without a name or with bad labels.")) {
  constexpr std::array<const char*, kResults> kNames = {"taken", "not_found", "encoding",
                                                        "too_large", "malformed"};
  for (size_t i = 0; i < kResults; ++i) {
    requests_[i] =
        &registry.AddCounter("activescale_remote_write_requests_total",
                             "Requests by remote_write, by result.", {{"result", kNames[i]}});
  }
}

void RemoteWrite::Handle(net::HttpRequest request, net::HttpResponder respond) {
  respond(Answer(request));
}

net::HttpResponse RemoteWrite::Count(Result result, std::string_view message) {
  constexpr std::array<int, kResults> kStatus = {204, 404, 415, 413, 400};
  requests_[result]->Increment();
  return {.status = kStatus[result], .content_type = "text/plain", .body = std::string(message)};
}

net::HttpResponse RemoteWrite::Answer(const net::HttpRequest& request) {
  if (request.method != "POST" || !Path(request).ends_with("/api/v1/write")) {
    return Count(kNotFound, "remote_write is taken by POST at /api/v1/write\n");
  }
  const std::string_view type = request.FindHeader("content-type");
  if (request.FindHeader("content-encoding") != "snappy" ||
      !type.starts_with("application/x-protobuf") || type.contains("io.prometheus.write.v2")) {
    return Count(kEncoding,
                 "only remote_write 1.0 is taken: application/x-protobuf in snappy's block "
                 "format\n");
  }
  size_t plain_bytes = 0;
  if (!snappy::GetUncompressedLength(request.body.data(), request.body.size(), &plain_bytes)) {
    return Count(kMalformed, "the body is not in snappy's block format\n");
  }
  if (plain_bytes > kMaxPlainBytes) {
    return Count(kTooLarge, fmt::format("the message has {} bytes, the limit is {}: send fewer "
                                        "samples at a time\n",
                                        plain_bytes, kMaxPlainBytes));
  }
  std::string message;
  if (!snappy::Uncompress(request.body.data(), request.body.size(), &message)) {
    return Count(kMalformed, "the body is not in snappy's block format\n");
  }
  if (const auto taken = Take(message, listener_ != nullptr); !taken)
    return Count(kMalformed, taken.error().message);
  return Count(kTaken, "");
}

base::Result<void> RemoteWrite::Take(std::string_view message, bool tell) {
  // Twice: nothing of a broken request is to be stored.
  if (!ForEachSeries(message, [](const TimeSeries&) {})) {
    return base::Fail(Code::kInvalidArgument, "the body is no WriteRequest of remote_write 1.0\n");
  }
  size_t invalid = 0;
  WriteRequest told;
  size_t told_bytes = 0;
  const auto pass_on = [&] {
    if (told_bytes > 0) listener_(told.SerializeAsString());
    told.Clear();
    told_bytes = 0;
  };
  (void)ForEachSeries(message, [&](const TimeSeries& series) {
    const auto stored = Append(series);
    if (!stored) ++invalid;
    if (!tell || !stored.value_or(false)) return;
    const size_t bytes = series.ByteSizeLong();
    if (told_bytes + bytes > kMaxToldBytes) pass_on();
    *told.add_timeseries() = series;
    told_bytes += bytes;
  });
  if (tell) pass_on();
  if (invalid == 0) return {};
  return base::Fail(Code::kInvalidArgument,
                    fmt::format("{} series have no name, or a label without a name, twice or not "
                                "in UTF-8; the "
                                "others were taken\n",
                                invalid));
}

std::optional<bool> RemoteWrite::Append(const TimeSeries& series) {
  const auto labels = ReadLabels(series);
  if (!labels) {
    invalid_.Increment();
    return std::nullopt;
  }
  bool stored = false;
  for (const auto& sample : series.samples()) {
    const auto outcome = series_.Append(*labels, {sample.timestamp(), sample.value()});
    samples_[static_cast<size_t>(outcome)]->Increment();
    stored = stored || outcome == series::AppendOutcome::kStored;
  }
  return stored;
}

}  // namespace activescale::source
