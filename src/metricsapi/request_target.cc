#include "metricsapi/request_target.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_text.h"
#include "base/percent.h"

namespace activescale::metricsapi {

namespace {

using base::Code;
using base::Fail;
using base::Result;

/// Input in a message is cut: it may be as long as a request.
std::string_view Head(std::string_view text) { return text.substr(0, 253); }

/// Decodes a part of a target into text.
Result<std::string> Unescape(std::string_view text, bool plus_is_space) {
  std::string spaced(text);
  if (plus_is_space) std::ranges::replace(spaced, '+', ' ');
  auto decoded = base::PercentDecode(spaced);
  if (!decoded) {
    return Fail(Code::kInvalidArgument,
                fmt::format("\"{}\" has an escape that is not %XX", Head(text)));
  }
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (!base::IsUtf8(*decoded) || std::ranges::any_of(*decoded, is_control)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("\"{}\" has control characters or is not UTF-8", Head(text)));
  }
  return *std::move(decoded);
}

Result<std::string> ParseSegment(std::string_view text) {
  auto segment = Unescape(text, false);
  if (!segment) return segment;
  if (segment->empty()) return Fail(Code::kInvalidArgument, "the path has an empty segment");
  if (*segment == "." || *segment == "..") {
    return Fail(Code::kInvalidArgument, fmt::format("the path has the segment \"{}\"", *segment));
  }
  if (segment->find_first_of("/%") != std::string::npos) {
    return Fail(Code::kInvalidArgument,
                fmt::format("the path segment \"{}\" has a \"/\" or \"%\" in it", Head(*segment)));
  }
  return segment;
}

Result<void> ParsePath(RequestTarget& target) {
  std::string_view rest = std::string_view(target.path).substr(1);
  while (!rest.empty()) {
    const size_t slash = rest.find('/');
    auto segment = ParseSegment(rest.substr(0, slash));
    if (!segment) return std::unexpected(segment.error());
    target.segments.push_back(*std::move(segment));
    rest = slash == std::string_view::npos ? "" : rest.substr(slash + 1);
  }
  return {};
}

Result<void> ParseQuery(std::string_view text, RequestTarget& target) {
  while (!text.empty()) {
    const size_t end = text.find('&');
    const std::string_view pair = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    if (pair.empty()) continue;
    if (pair.find(';') != std::string_view::npos) {
      return Fail(Code::kInvalidArgument, "the query has a \";\": separate parameters by \"&\"");
    }
    const size_t equals = pair.find('=');
    auto key = Unescape(pair.substr(0, equals), true);
    if (!key) return std::unexpected(key.error());
    auto value = Unescape(equals == std::string_view::npos ? "" : pair.substr(equals + 1), true);
    if (!value) return std::unexpected(value.error());
    target.query.emplace_back(*std::move(key), *std::move(value));
  }
  return {};
}

}  // namespace

std::optional<std::string_view> RequestTarget::Parameter(std::string_view name) const {
  const auto found = std::ranges::find(query, name, &decltype(query)::value_type::first);
  if (found == query.end()) return std::nullopt;
  return found->second;
}

base::Result<RequestTarget> ParseTarget(std::string_view target) {
  if (!target.starts_with('/') || target.find('#') != std::string_view::npos) {
    return Fail(Code::kInvalidArgument, "the request's target is not a path with a query");
  }
  RequestTarget result;
  const size_t question = target.find('?');
  result.path = target.substr(0, question);
  if (auto parsed = ParsePath(result); !parsed) return std::unexpected(parsed.error());
  if (question != std::string_view::npos) {
    auto parsed = ParseQuery(target.substr(question + 1), result);
    if (!parsed) return std::unexpected(parsed.error());
  }
  return result;
}

}  // namespace activescale::metricsapi
