#include "source/exposed_metadata.h"

#include <functional>
#include <map>
#include <utility>

namespace activescale::source {

void MetadataDigest::Fold(std::string_view text) {
  value_ = value_ * 0x100000001b3 ^ std::hash<std::string_view>()(text);
}

void MetadataDigest::Add(const ExposedComment& comment) {
  value_ += static_cast<uint64_t>(comment.kind) + 1;
  Fold(comment.name);
  Fold(comment.text);
  bytes_ += sizeof(series::MetricMetadata) + comment.name.size() + comment.text.size();
}

series::MetadataPage ReadMetadata(std::string_view text, ExpositionFormat format,
                                  std::string_view ns) {
  using Kind = ExposedComment::Kind;
  std::map<std::string, series::MetricMetadata> metrics;
  ExpositionParser parser(text, format);
  parser.OnComment([&metrics](const ExposedComment& comment) {
    const std::string name = Unescape(comment.name);
    series::MetricMetadata& metric = metrics[name];
    metric.name = name;
    if (comment.kind == Kind::kHelp) metric.help = Unescape(comment.text);
    if (comment.kind == Kind::kUnit) metric.unit = comment.text;
    // As Prometheus calls it since OpenMetrics.
    if (comment.kind == Kind::kType) {
      metric.type = comment.text == "untyped" ? "unknown" : comment.text;
    }
  });
  for (ExposedSample sample; parser.Next(sample).value_or(false);) {
  }
  series::MetadataPage page{std::string(ns), {}};
  for (auto& [name, metric] : metrics) page.metrics.push_back(std::move(metric));
  return page;
}

}  // namespace activescale::source
