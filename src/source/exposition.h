#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace activescale::source {

enum class ExpositionFormat : uint8_t { kPrometheusText, kOpenMetrics };

/// What is wrong with a text; the message says more.
enum class ExpositionFault : uint8_t {
  kComment,   // a TYPE, HELP, UNIT or EOF line that is none
  kName,      // of a metric
  kLabel,     // a name, a missing quote or brace, one name twice, too many
  kEncoding,  // not UTF-8
  kValue,
  kTimestamp,
  kTrailing,   // more after the end of a sample or of the text
  kTruncated,  // OpenMetrics without "# EOF"
};
inline constexpr size_t kExpositionFaults = 8;

/// As a label value: "timestamp".
[[nodiscard]] std::string_view ExpositionFaultName(ExpositionFault fault);

struct ExpositionError {
  ExpositionFault fault = ExpositionFault::kValue;
  std::string message;  // begins with "line 3: "
};

/// One sample of a text. Views are valid while the text is, and until the next one is read.
struct ExposedSample {
  std::string_view series;  // name and labels as they stand in the text
  std::string_view name;    // as all that follow with escapes in it
  std::vector<std::pair<std::string_view, std::string_view>> labels;  // in the text's order
  double value = 0;
  std::optional<int64_t> time_ms;
};

/// A line of a text that tells of a metric. Views are valid while the text is.
struct ExposedComment {
  enum class Kind : uint8_t { kType, kHelp, kUnit };
  Kind kind = Kind::kType;
  std::string_view name;  // as the text, with escapes in it
  std::string_view text;
};

/// Reads metrics in Prometheus's text format 0.0.4 or in OpenMetrics 1.0. Nothing is copied.
/// Source: prometheus/docs:content/docs/instrumenting/exposition_formats.md, OpenMetrics.md;
/// prometheus/prometheus:model/textparse/promparse.go, openmetricsparse.go.
class ExpositionParser {
 public:
  /// A series with more labels is refused.
  static constexpr size_t kMaxLabels = 256;

  /// `text` must outlive this.
  ExpositionParser(std::string_view text, ExpositionFormat format)
      : rest_(text), open_metrics_(format == ExpositionFormat::kOpenMetrics) {}

  /// `visit` gets each comment that is not only for people, before the samples that follow it.
  void OnComment(std::function<void(const ExposedComment&)> visit) { visit_ = std::move(visit); }

  /// Reads the next sample into `sample`; false at the end of the text. After an error the rest
  /// means nothing.
  [[nodiscard]] std::expected<bool, ExpositionError> Next(ExposedSample& sample);

 private:
  using Checked = std::expected<void, ExpositionError>;

  [[nodiscard]] std::unexpected<ExpositionError> Fail(ExpositionFault fault,
                                                      std::string_view what) const;
  void SkipSpace();
  [[nodiscard]] bool TakeSpace();
  [[nodiscard]] bool Take(char c);
  [[nodiscard]] std::string_view TakeWord();
  [[nodiscard]] std::string_view TakeIdentifier(bool colons);
  [[nodiscard]] std::expected<std::string_view, ExpositionError> TakeQuoted();
  [[nodiscard]] Checked ReadComment();
  [[nodiscard]] Checked CheckType(std::string_view& type) const;
  [[nodiscard]] std::optional<ExposedComment::Kind> KindOf(std::string_view keyword) const;
  [[nodiscard]] Checked ReadSample(ExposedSample& sample);
  [[nodiscard]] Checked ReadLabels(ExposedSample& sample);
  [[nodiscard]] Checked ReadLabel(ExposedSample& sample);
  [[nodiscard]] Checked ReadValue(double& value);
  [[nodiscard]] Checked ReadTime(std::optional<int64_t>& time_ms);
  [[nodiscard]] Checked ReadExemplar();

  std::string_view rest_;  // of the text
  std::string_view line_;  // what is left of the present line
  size_t line_number_ = 0;
  const bool open_metrics_;
  std::function<void(const ExposedComment&)> visit_;
  bool ended_ = false;  // "# EOF" was read
};

/// A label value or quoted name without its escapes.
[[nodiscard]] std::string Unescape(std::string_view text);

}  // namespace activescale::source
