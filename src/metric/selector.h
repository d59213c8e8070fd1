#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "metric/labels.h"

namespace activescale::metric {

/// One term of a label selector.
struct Requirement {
  enum class Op : uint8_t { kIn, kNotIn, kExists, kDoesNotExist };
  std::string key;
  Op op = Op::kIn;                  // `=` and `==` are kIn with one value, `!=` kNotIn with one
  std::vector<std::string> values;  // sorted; empty for kExists and kDoesNotExist

  friend bool operator==(const Requirement&, const Requirement&) = default;
};

/// A Kubernetes label selector: all requirements must hold; the empty one matches everything.
/// Grammar and rules as apimachinery's labels.Parse: `a=b`, `a==b`, `a!=b`, `a in (x,y)`,
/// `a notin (x,y)`, `a`, `!a`, joined by commas; keys and values must be legal label keys and
/// values. `!=` and `notin` also match objects without the key.
/// Source: kubernetes/apimachinery:pkg/labels/selector.go.
class Selector {
 public:
  Selector() = default;

  /// `text` is already percent-decoded. Errors: kInvalidArgument, naming the offending term.
  /// `<` and `>` (legal in the library, useless on strings) are refused by name.
  [[nodiscard]] static base::Result<Selector> Parse(std::string_view text);

  [[nodiscard]] bool Matches(const Labels& labels) const;
  [[nodiscard]] const std::vector<Requirement>& requirements() const { return requirements_; }
  [[nodiscard]] bool empty() const { return requirements_.empty(); }
  /// Canonical text, requirements sorted by key: equal selectors have equal texts.
  [[nodiscard]] std::string ToString() const;

 private:
  std::vector<Requirement> requirements_;  // sorted by key
};

}  // namespace activescale::metric
