#include "app/config_file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <utility>

#include "base/file_text.h"

namespace activescale::app {
namespace {

using base::Code;
using base::Fail;
using Values = std::map<std::string, std::string, std::less<>>;

base::Result<std::string> ValueText(const std::string& key, const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  if (node.IsNull()) return std::string();
  std::string joined;
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) {
      if (!item.IsScalar()) break;
      if (!joined.empty()) joined += ",";
      joined += item.Scalar();
    }
  }
  const auto is_scalar = [](const YAML::Node& item) { return item.IsScalar(); };
  if (!node.IsSequence() || !std::all_of(node.begin(), node.end(), is_scalar)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("line {}: the value of {} must be a scalar or a sequence of scalars",
                            node.Mark().line + 1, key));
  }
  return joined;
}

base::Result<Values> ReadMapping(const YAML::Node& root) {
  Values values;
  if (root.IsNull()) return values;
  if (!root.IsMap()) {
    return Fail(Code::kInvalidArgument, "must be a mapping from names of settings to values");
  }
  for (const auto& entry : root) {
    if (!entry.first.IsScalar()) {
      return Fail(
          Code::kInvalidArgument,
          fmt::format("line {}: a key must be the name of a setting", entry.first.Mark().line + 1));
    }
    const std::string& key = entry.first.Scalar();
    auto value = ValueText(key, entry.second);
    if (!value) return std::unexpected(value.error());
    if (!values.emplace(key, std::move(*value)).second) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("line {}: {} is given twice", entry.first.Mark().line + 1, key));
    }
  }
  return values;
}

}  // namespace

base::Result<Values> ParseConfigYaml(std::string_view text) {
  try {
    return ReadMapping(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& error) {
    return Fail(Code::kInvalidArgument, fmt::format("line {}: {}", error.mark.line + 1, error.msg));
  }
}

base::Result<Values> ReadConfigFile(const std::string& path) {
  const auto text = base::ReadFile(path);
  if (!text) {
    return Fail(Code::kNotFound, fmt::format("cannot be read: {}", text.error().message()));
  }
  return ParseConfigYaml(*text);
}

}  // namespace activescale::app
