#include "queryapi/form.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/percent.h"

namespace activescale::queryapi {
namespace {

std::optional<std::string> Decode(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  return base::PercentDecode(spaced);
}

}  // namespace

base::Result<void> Form::Add(std::string_view encoded) {
  while (!encoded.empty()) {
    const size_t end = std::min(encoded.find('&'), encoded.size());
    const std::string_view pair = encoded.substr(0, end);
    encoded.remove_prefix(std::min(end + 1, encoded.size()));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    auto name = Decode(pair.substr(0, equals));
    auto value = Decode(pair.substr(std::min(equals + 1, pair.size())));
    if (!name || !value) {
      return base::Fail(base::Code::kInvalidArgument,
                        fmt::format("invalid URL escape in parameter \"{}\"", pair.substr(0, 100)));
    }
    values_.emplace_back(*std::move(name), *std::move(value));
  }
  return {};
}

base::Result<Form> Form::Parse(const net::HttpRequest& request) {
  Form form;
  if (request.method == "POST" &&
      request.FindHeader("content-type").starts_with("application/x-www-form-urlencoded")) {
    if (auto added = form.Add(request.body); !added) return std::unexpected(added.error());
  }
  const std::string_view target = request.target;
  const size_t question = target.find('?');
  if (question != std::string_view::npos) {
    if (auto added = form.Add(target.substr(question + 1)); !added) {
      return std::unexpected(added.error());
    }
  }
  return form;
}

std::optional<std::string_view> Form::Find(std::string_view name) const {
  const auto found = std::ranges::find(values_, name, &decltype(values_)::value_type::first);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::vector<std::string_view> Form::FindAll(std::string_view name) const {
  std::vector<std::string_view> all;
  for (const auto& [key, value] : values_) {
    if (key == name) all.push_back(value);
  }
  return all;
}

}  // namespace activescale::queryapi
