// yaml-cpp throws; nothing of it leaves this file.
#include "signal/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "base/ascii.h"
#include "promql/literal.h"
#include "promql/parser.h"

namespace activescale::signal {
namespace {

constexpr size_t kMaxNameBytes = 253;
constexpr size_t kNamesShown = 10;

std::string Key(std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}", ns, base::Lower(name));
}

bool IsName(std::string_view name) {
  const auto is_alnum = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && name.size() <= kMaxNameBytes && is_alnum(name[0]) &&
         std::ranges::all_of(name, [&](char c) {
           return is_alnum(c) || c == '_' || c == '-' || c == '.' || c == ':';
         });
}

bool IsNamespace(std::string_view name) {
  return name.size() <= 63 && !name.starts_with('-') && !name.ends_with('-') &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

/// Reads the file's nodes and collects what is wrong with them.
class Reader {
 public:
  explicit Reader(promql::Dialect dialect) : dialect_(dialect) {}

  [[nodiscard]] std::vector<Signal> ReadFile(const YAML::Node& root) {
    std::vector<Signal> signals;
    if (!root.IsMap() || !root["signals"] || root.size() != 1) {
      Fault(root, "the file must be a mapping with the one key \"signals\"");
      return signals;
    }
    const YAML::Node list = root["signals"];
    if (list.IsNull()) return signals;
    if (!list.IsSequence()) {
      Fault(list, "signals must be a sequence");
      return signals;
    }
    for (const YAML::Node& node : list) {
      signals.push_back(ReadSignal(node));
      CheckCollision(signals.back(), node.Mark().line + 1);
    }
    return signals;
  }

  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }

 private:
  struct Seen {
    std::string name;
    int line = 0;
  };
  using Namesakes = std::map<std::string, Seen>;  // by namespace

  void Fault(const YAML::Node& at, std::string_view why) { Fault(at.Mark().line + 1, why); }
  void Fault(int line, std::string_view why) {
    faults_.push_back(fmt::format("line {}: {}", line, why));
  }

  /// HPAs name a metric without its namespace, and Kubernetes lowers its case.
  void CheckCollision(const Signal& signal, int line) {
    if (signal.name.empty()) return;
    Namesakes& others = seen_[base::Lower(signal.name)];
    const Seen* other = nullptr;
    if (signal.ns.empty()) {
      if (!others.empty()) other = &others.begin()->second;
    } else if (const auto same = others.find(signal.ns); same != others.end()) {
      other = &same->second;
    } else if (const auto of_all = others.find(""); of_all != others.end()) {
      other = &of_all->second;
    }
    if (other != nullptr) {
      Fault(line, fmt::format("the name {} collides with {} in line {}: case does not count, and a "
                              "signal without a namespace is seen by all",
                              signal.name, other->name, other->line));
    }
    others.try_emplace(signal.ns, Seen{signal.name, line});
  }

  Signal ReadSignal(const YAML::Node& node) {
    Signal signal;
    if (!node.IsMap()) {
      Fault(node, "a signal must be a mapping");
      return signal;
    }
    bool has_target = false;
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      const YAML::Node& value = entry.second;
      has_target = has_target || key == "target";
      if (key == "name") {
        signal.name = ReadName(value);
      } else if (key == "namespace") {
        signal.ns = Text(value, key);
        if (!IsNamespace(signal.ns)) Fault(value, "namespace is not the name of a namespace");
      } else if (key == "expression") {
        ReadExpression(value, signal);
      } else if (key == "target") {
        signal.target = Number(value, key);
        if (!(signal.target > 0)) Fault(value, "target must be above 0");
      } else if (key == "activation") {
        signal.activation = Number(value, key);
      } else if (key == "fallback") {
        if (Text(value, key) != "missing") signal.fallback = Number(value, key);
      } else if (key == "labels") {
        ReadLabels(value, signal);
      } else if (key == "partial_window") {
        ReadPartialWindow(value, signal);
      } else {
        Fault(entry.first,
              fmt::format("\"{}\" is not a key of a signal; those are name, namespace, expression, "
                          "target, activation, fallback, labels and partial_window",
                          key));
      }
    }
    if (!node["name"]) Fault(node, "the signal has no name");
    if (!node["expression"]) Fault(node, "the signal has no expression");
    if (!has_target) Fault(node, "the signal has no target");
    return signal;
  }

  std::string Text(const YAML::Node& node, std::string_view key) {
    if (node.IsScalar()) return node.Scalar();
    Fault(node, fmt::format("{} must be a text", key));
    return {};
  }

  double Number(const YAML::Node& node, std::string_view key) {
    const auto value = promql::ParseDecimal(Text(node, key));
    if (value && std::isfinite(*value) && *value >= 0) return *value;
    Fault(node, fmt::format("{} must be a number of at least 0", key));
    return 1;
  }

  std::string ReadName(const YAML::Node& node) {
    std::string name = Text(node, "name");
    if (!IsName(name)) {
      Fault(node,
            "name must begin with a letter or digit and have only letters, digits, '_', '-', '.' "
            "and ':', 253 at most");
    } else if (const std::string lower = base::Lower(name);
               lower == "status" || lower == "finalize") {
      Fault(node, fmt::format("name cannot be {}: Kubernetes reads that as a part of the namespace",
                              lower));
    }
    return name;
  }

  void ReadExpression(const YAML::Node& node, Signal& signal) {
    signal.expression = Text(node, "expression");
    auto expr = promql::Parse(signal.expression, dialect_);
    if (!expr) {
      Fault(node, "expression: " + expr.error().message);
    } else if ((*expr)->type != promql::ValueType::kVector &&
               (*expr)->type != promql::ValueType::kScalar) {
      Fault(node, fmt::format("expression gives a {}; it must give a scalar or instant vector",
                              promql::TypeName((*expr)->type)));
    } else {
      signal.expr = *std::move(expr);
    }
  }

  void ReadLabels(const YAML::Node& node, Signal& signal) {
    if (!node.IsMap()) return Fault(node, "labels must be a mapping");
    std::vector<metric::Labels::Entry> labels;
    for (const auto& entry : node) {
      labels.emplace_back(Text(entry.first, "the name of a label"),
                          Text(entry.second, "the value of a label"));
    }
    signal.labels = metric::Labels(std::move(labels));
  }

  void ReadPartialWindow(const YAML::Node& node, Signal& signal) {
    const std::string text = Text(node, "partial_window");
    if (text == "serve") {
      signal.partial_window = PartialWindow::kServe;
    } else if (text != "missing") {
      Fault(node, "partial_window is missing or serve");
    }
  }

  const promql::Dialect dialect_;
  std::map<std::string, Namesakes> seen_;  // by name in lower case
  std::vector<std::string> faults_;
};

}  // namespace

Catalogue::Catalogue(std::vector<Signal> signals) : signals_(std::move(signals)) {
  for (size_t i = 0; i < signals_.size(); ++i) {
    index_.emplace(Key(signals_[i].ns, signals_[i].name), i);
  }
}

base::Result<Catalogue> Catalogue::Parse(const std::string& yaml, promql::Dialect dialect) {
  try {
    Reader reader(dialect);
    std::vector<Signal> signals = reader.ReadFile(YAML::Load(yaml));
    if (!reader.faults().empty()) {
      return base::Fail(base::Code::kInvalidArgument,
                        fmt::format("{}", fmt::join(reader.faults(), "; ")));
    }
    return Catalogue(std::move(signals));
  } catch (const YAML::Exception& error) {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("line {}: {}", error.mark.line + 1, error.msg));
  }
}

base::Result<const Signal*> Catalogue::Find(std::string_view ns, std::string_view name) const {
  for (const std::string_view scope : {ns, std::string_view()}) {
    const auto found = index_.find(Key(scope, name));
    if (found != index_.end()) return &signals_[found->second];
  }
  std::vector<std::string_view> known;
  size_t more = 0;
  for (const Signal& signal : signals_) {
    if (!signal.ns.empty() && signal.ns != ns) continue;
    known.size() < kNamesShown ? known.push_back(signal.name) : static_cast<void>(++more);
  }
  std::string message = fmt::format("there is no signal \"{}\" for namespace {}",
                                    name.substr(0, kMaxNameBytes), ns.substr(0, kMaxNameBytes));
  if (known.empty()) {
    message += "; none is configured for it in the file of signals";
  } else {
    message += fmt::format("; there are {}", fmt::join(known, ", "));
    if (more > 0) message += fmt::format(" and {} more", more);
  }
  return base::Fail(base::Code::kNotFound, std::move(message));
}

std::vector<std::string> Catalogue::Names() const {
  std::vector<std::string> names;
  for (const Signal& signal : signals_) names.push_back(base::Lower(signal.name));
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

}  // namespace activescale::signal
