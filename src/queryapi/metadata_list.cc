#include "queryapi/metadata_list.h"

#include "base/json_text.h"

namespace activescale::queryapi {
namespace {

void AppendMember(std::string_view key, std::string_view value, std::string& out) {
  base::AppendJsonString(key, out);
  out += ':';
  base::AppendJsonString(value, out);
}

}  // namespace

void MetadataList::Add(const std::vector<series::MetricMetadata>& metrics) {
  for (const series::MetricMetadata& metric : metrics) {
    if (!limits_.metric.empty() && metric.name != limits_.metric) continue;
    auto& told = by_name_[metric.name];
    if (told.size() < limits_.per_metric) told.insert(&metric);
  }
}

std::string MetadataList::Render() const {
  std::string out = "{";
  size_t shown = 0;
  for (const auto& [name, told] : by_name_) {
    if (shown == limits_.metrics) break;
    if (shown++ > 0) out += ',';
    base::AppendJsonString(name, out);
    out += ":[";
    for (const series::MetricMetadata* metric : told) {
      if (out.back() != '[') out += ',';
      out += '{';
      AppendMember("type", metric->type, out);
      out += ',';
      AppendMember("help", metric->help, out);
      out += ',';
      AppendMember("unit", metric->unit, out);
      out += '}';
    }
    out += ']';
  }
  return out += '}';
}

}  // namespace activescale::queryapi
