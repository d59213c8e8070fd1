#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "metric/labels.h"
#include "promql/ast.h"
#include "promql/dialect.h"
#include "signal/evaluator.h"

namespace activescale::signal {

/// A named expression that drives scaling.
struct Signal {
  std::string name;        // as written; compared without case
  std::string ns;          // whose HPAs and ScaledObjects may read it; empty: everybody's
  std::string expression;  // as written
  std::shared_ptr<const promql::Expr> expr;
  double target = 0;               // per replica, above 0
  double activation = 0;           // a workload at rest is woken above this
  std::optional<double> fallback;  // served for a value that is missing or fails
  metric::Labels labels;           // added to those of the result
  PartialWindow partial_window = PartialWindow::kMissing;
};

/// All signals of one file. Immutable. Threads: any.
class Catalogue {
 public:
  Catalogue() = default;

  /// Reads `signals:`, a sequence of mappings; docs/guide.md describes them. Errors:
  /// kInvalidArgument: every fault of the file, each with its line.
  [[nodiscard]] static base::Result<Catalogue> Parse(const std::string& yaml,
                                                     promql::Dialect dialect);

  /// The signal of this name, whatever its case, that namespace `ns` may read.
  /// Errors: kNotFound, naming those that there are.
  [[nodiscard]] base::Result<const Signal*> Find(std::string_view ns, std::string_view name) const;

  [[nodiscard]] const std::vector<Signal>& signals() const { return signals_; }
  /// Names in lower case, sorted, each once.
  [[nodiscard]] std::vector<std::string> Names() const;

 private:
  explicit Catalogue(std::vector<Signal> signals);

  std::vector<Signal> signals_;
  std::unordered_map<std::string, size_t> index_;  // by namespace and name
};

}  // namespace activescale::signal
