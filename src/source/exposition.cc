#include "source/exposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "base/ascii.h"
#include "base/json_text.h"

namespace activescale::source {
namespace {

constexpr std::array<std::string_view, 5> kTextTypes = {"counter", "gauge", "histogram", "summary",
                                                        "untyped"};
constexpr std::array<std::string_view, 8> kOpenMetricsTypes = {
    "counter", "gauge", "histogram", "gaugehistogram", "summary", "info", "stateset", "unknown"};
// Seconds whose milliseconds still fit.
constexpr double kMaxSeconds = 9.2e15;

bool IsSpace(char c) { return c == ' ' || c == '\t'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// A double as Go's ParseFloat takes it, without hexadecimal digits and underscores.
std::optional<double> ParseDouble(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || digits.starts_with('+') || digits.starts_with('-') || text.contains('(')) {
    return std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (end != text.end()) return std::nullopt;
  // Too small is 0, too large is no number.
  if (error == std::errc::result_out_of_range) {
    return text.contains("e-") || text.contains("E-") ? std::optional(0.0) : std::nullopt;
  }
  if (error != std::errc()) return std::nullopt;
  // One NaN alone: another one means that a series has ended.
  return std::isnan(value) ? std::nan("") : value;
}

}  // namespace

std::string_view ExpositionFaultName(ExpositionFault fault) {
  constexpr std::array<std::string_view, kExpositionFaults> kNames = {
      "comment", "name", "label", "encoding", "value", "timestamp", "trailing", "truncated"};
  return kNames[static_cast<size_t>(fault)];
}

std::string Unescape(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    if (next == 'n') {
      plain += '\n';
    } else if (next == '"' || next == '\\') {
      plain += next;
    } else {
      plain += text[i];
      continue;
    }
    ++i;
  }
  return plain;
}

std::unexpected<ExpositionError> ExpositionParser::Fail(ExpositionFault fault,
                                                        std::string_view what) const {
  constexpr size_t kShown = 40;
  std::string message = fmt::format("line {}: {}", line_number_, what);
  if (!line_.empty()) {
    std::string shown;
    base::AppendJsonString(line_.substr(0, kShown), shown);
    message += " at " + shown;
  }
  return std::unexpected(ExpositionError{fault, std::move(message)});
}

void ExpositionParser::SkipSpace() {
  while (!line_.empty() && IsSpace(line_.front())) line_.remove_prefix(1);
}

/// OpenMetrics has one space between parts, the older format any number of spaces and tabs.
bool ExpositionParser::TakeSpace() {
  if (open_metrics_) return Take(' ');
  const size_t before = line_.size();
  SkipSpace();
  return line_.size() < before;
}

bool ExpositionParser::Take(char c) {
  if (!line_.starts_with(c)) return false;
  line_.remove_prefix(1);
  return true;
}

std::string_view ExpositionParser::TakeWord() {
  const size_t end = std::min(line_.find_first_of(" \t"), line_.size());
  const std::string_view word = line_.substr(0, end);
  line_.remove_prefix(end);
  return word;
}

std::string_view ExpositionParser::TakeIdentifier(bool colons) {
  size_t end = 0;
  while (end < line_.size() && (IsLetter(line_[end]) || (colons && line_[end] == ':') ||
                                (end > 0 && base::IsDigit(line_[end])))) {
    ++end;
  }
  const std::string_view identifier = line_.substr(0, end);
  line_.remove_prefix(end);
  return identifier;
}

/// What is between quotes, of which the first is taken already.
std::expected<std::string_view, ExpositionError> ExpositionParser::TakeQuoted() {
  size_t end = 0;
  while (end < line_.size() && line_[end] != '"') end += line_[end] == '\\' ? 2 : 1;
  if (end >= line_.size()) return Fail(ExpositionFault::kLabel, "a quote is not closed");
  const std::string_view quoted = line_.substr(0, end);
  if (!base::IsUtf8(quoted)) return Fail(ExpositionFault::kEncoding, "text that is not UTF-8");
  line_.remove_prefix(end + 1);
  return quoted;
}

std::expected<bool, ExpositionError> ExpositionParser::Next(ExposedSample& sample) {
  while (!rest_.empty()) {
    ++line_number_;
    const size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end, rest_.size() - 1) + 1);
    if (ended_) return Fail(ExpositionFault::kTrailing, "text after \"# EOF\"");
    if (!open_metrics_) SkipSpace();
    if (line_.empty()) {
      if (open_metrics_) return Fail(ExpositionFault::kComment, "an empty line");
      continue;
    }
    if (line_.starts_with('#')) {
      if (auto read = ReadComment(); !read) return std::unexpected(std::move(read.error()));
      continue;
    }
    if (auto read = ReadSample(sample); !read) return std::unexpected(std::move(read.error()));
    return true;
  }
  line_ = {};
  if (open_metrics_ && !ended_) {
    return Fail(ExpositionFault::kTruncated, "the text does not end with \"# EOF\"");
  }
  return false;
}

std::optional<ExposedComment::Kind> ExpositionParser::KindOf(std::string_view keyword) const {
  if (keyword == "TYPE") return ExposedComment::Kind::kType;
  if (keyword == "HELP") return ExposedComment::Kind::kHelp;
  if (keyword == "UNIT" && open_metrics_) return ExposedComment::Kind::kUnit;
  return std::nullopt;
}

ExpositionParser::Checked ExpositionParser::ReadComment() {
  if (line_ == "# EOF" && open_metrics_) {
    ended_ = true;
    return {};
  }
  line_.remove_prefix(1);
  const bool spaced = TakeSpace();
  const std::string_view keyword = TakeWord();
  const auto kind = KindOf(keyword);
  if (!spaced || !kind) {
    if (!open_metrics_) return {};  // a comment for people
    return Fail(ExpositionFault::kComment, "a comment that is no HELP, TYPE, UNIT or EOF");
  }
  if (!TakeSpace()) return Fail(ExpositionFault::kComment, "no metric is named");
  ExposedComment comment{.kind = *kind};
  if (Take('"')) {
    auto name = TakeQuoted();
    if (!name) return std::unexpected(std::move(name.error()));
    comment.name = *name;
  } else {
    comment.name = TakeIdentifier(true);
    if (comment.name.empty()) return Fail(ExpositionFault::kName, "no name of a metric");
  }
  if (!line_.empty() && !TakeSpace()) return Fail(ExpositionFault::kName, "no name of a metric");
  comment.text = line_;
  if (*kind == ExposedComment::Kind::kType) {
    if (auto read = CheckType(comment.text); !read) return read;
  }
  if (visit_) visit_(comment);
  return {};
}

/// Takes spaces off the end of `type`, too.
ExpositionParser::Checked ExpositionParser::CheckType(std::string_view& type) const {
  while (!open_metrics_ && !type.empty() && IsSpace(type.back())) type.remove_suffix(1);
  const std::span<const std::string_view> types =
      open_metrics_ ? std::span<const std::string_view>(kOpenMetricsTypes) : kTextTypes;
  if (std::ranges::find(types, type) == types.end()) {
    return Fail(ExpositionFault::kComment, "no type of a metric");
  }
  return {};
}

ExpositionParser::Checked ExpositionParser::ReadSample(ExposedSample& sample) {
  const char* const begin = line_.data();
  sample.name = TakeIdentifier(true);
  sample.labels.clear();
  const bool has_name = !sample.name.empty();
  if (has_name && !open_metrics_) SkipSpace();
  if (Take('{')) {
    if (auto read = ReadLabels(sample); !read) return read;
  }
  if (sample.name.empty()) return Fail(ExpositionFault::kName, "no name of a metric");
  sample.series = std::string_view(begin, static_cast<size_t>(line_.data() - begin));
  while (IsSpace(sample.series.back())) sample.series.remove_suffix(1);
  const bool closed = sample.series.ends_with('}') || IsSpace(line_.data()[-1]);
  if (!TakeSpace() && !(closed && !open_metrics_)) {
    return Fail(has_name ? ExpositionFault::kName : ExpositionFault::kValue,
                "no value after the series");
  }
  if (auto read = ReadValue(sample.value); !read) return read;
  sample.time_ms.reset();
  const bool more = TakeSpace();
  if (more && !line_.empty() && line_.front() != '#') {
    if (auto read = ReadTime(sample.time_ms); !read) return read;
    if (TakeSpace() && open_metrics_ && line_.starts_with('#')) return ReadExemplar();
  } else if (more && open_metrics_ && line_.starts_with('#')) {
    return ReadExemplar();
  }
  if (!line_.empty() || (more && open_metrics_ && !sample.time_ms)) {
    return Fail(ExpositionFault::kTrailing, "more than a value and a time");
  }
  return {};
}

/// What is between braces, of which the first is taken already.
ExpositionParser::Checked ExpositionParser::ReadLabels(ExposedSample& sample) {
  while (true) {
    if (!open_metrics_) SkipSpace();
    if (Take('}')) return {};
    if (auto read = ReadLabel(sample); !read) return read;
    if (!open_metrics_) SkipSpace();
    if (Take(',')) continue;
    if (Take('}')) return {};
    return Fail(ExpositionFault::kLabel, "no comma or brace after a label");
  }
}

/// `name="value"`, `"name"="value"`, or `"metric"` if the series has no name yet.
ExpositionParser::Checked ExpositionParser::ReadLabel(ExposedSample& sample) {
  std::string_view name;
  if (Take('"')) {
    auto quoted = TakeQuoted();
    if (!quoted) return std::unexpected(std::move(quoted.error()));
    name = *quoted;
    const bool alone = line_.empty() || line_.front() == ',' || line_.front() == '}';
    if (alone && sample.name.empty() && !name.empty()) {
      sample.name = name;
      return {};
    }
  } else {
    name = TakeIdentifier(false);
  }
  if (name.empty()) return Fail(ExpositionFault::kLabel, "no name of a label");
  if (!open_metrics_) SkipSpace();
  if (!Take('=')) return Fail(ExpositionFault::kLabel, "no \"=\" after the name of a label");
  if (!open_metrics_) SkipSpace();
  if (!Take('"')) return Fail(ExpositionFault::kLabel, "no quoted value of a label");
  const auto value = TakeQuoted();
  if (!value) return std::unexpected(value.error());
  if (sample.labels.size() == kMaxLabels) return Fail(ExpositionFault::kLabel, "too many labels");
  if (name == "__name__" ||
      std::ranges::find(sample.labels, name, &decltype(sample.labels)::value_type::first) !=
          sample.labels.end()) {
    return Fail(ExpositionFault::kLabel, fmt::format("label \"{}\" twice", name));
  }
  sample.labels.emplace_back(name, *value);
  return {};
}

ExpositionParser::Checked ExpositionParser::ReadValue(double& value) {
  const std::string_view before = line_;
  const auto parsed = ParseDouble(TakeWord());
  if (!parsed) {
    line_ = before;
    return Fail(ExpositionFault::kValue, "no number");
  }
  value = *parsed;
  return {};
}

/// Whole milliseconds, in OpenMetrics seconds.
ExpositionParser::Checked ExpositionParser::ReadTime(std::optional<int64_t>& time_ms) {
  const std::string_view before = line_;
  const std::string_view word = TakeWord();
  if (open_metrics_) {
    const auto seconds = ParseDouble(word);
    if (seconds && std::abs(*seconds) < kMaxSeconds) {
      time_ms = std::llround(*seconds * 1000);
      return {};
    }
  } else {
    int64_t ms = 0;
    const auto [end, error] = std::from_chars(word.begin(), word.end(), ms);
    if (error == std::errc() && end == word.end()) {
      time_ms = ms;
      return {};
    }
  }
  line_ = before;
  return Fail(ExpositionFault::kTimestamp, "no time");
}

/// `# {labels} value [time]`, which is checked and not kept.
ExpositionParser::Checked ExpositionParser::ReadExemplar() {
  ExposedSample exemplar;
  exemplar.name = "exemplar";
  if (!Take('#') || !TakeSpace() || !Take('{')) {
    return Fail(ExpositionFault::kTrailing, "no exemplar");
  }
  if (auto read = ReadLabels(exemplar); !read) return read;
  if (!TakeSpace()) return Fail(ExpositionFault::kTrailing, "no value of an exemplar");
  if (auto read = ReadValue(exemplar.value); !read) return read;
  if (TakeSpace()) {
    if (auto read = ReadTime(exemplar.time_ms); !read) return read;
  }
  if (!line_.empty()) return Fail(ExpositionFault::kTrailing, "more after an exemplar");
  return {};
}

}  // namespace activescale::source
