#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace activescale::insight {

enum class Level : uint8_t { kOk, kWarning, kFailure };

/// What one check of `doctor` found. Texts hold no secrets.
struct Finding {
  Level level = Level::kOk;
  std::string check;    // what was looked at: "APIService v1beta2.custom.metrics.k8s.io"
  std::string message;  // what is so, and why
  std::string advice;   // what to do; empty for kOk
};

using Findings = std::vector<Finding>;

/// The gravest level; kOk of none.
[[nodiscard]] Level WorstOf(const Findings& findings);
/// For a person: one line a finding with its advice below, and a line that sums up.
[[nodiscard]] std::string FindingsText(const Findings& findings);
/// For a program: one JSON object, members as in docs/doctor.md.
[[nodiscard]] std::string FindingsJson(const Findings& findings);

/// "1 pod", "2 pods".
[[nodiscard]] std::string Plural(size_t count, std::string_view noun);
/// `text` on one line: what a server answered may have several, and control characters.
[[nodiscard]] std::string OneLine(std::string_view text);

}  // namespace activescale::insight
