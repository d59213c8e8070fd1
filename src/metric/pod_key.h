#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>

namespace activescale::metric {

/// A pod's namespace and name, not owned. Lives as long as what it points into.
struct PodKeyView {
  std::string_view ns;
  std::string_view name;

  friend bool operator==(const PodKeyView&, const PodKeyView&) = default;
};

/// A pod's namespace and name: the identity of all telemetry.
struct PodKey {
  std::string ns;
  std::string name;

  [[nodiscard]] PodKeyView View() const { return {ns, name}; }
  friend auto operator<=>(const PodKey&, const PodKey&) = default;
  friend bool operator==(const PodKey&, const PodKey&) = default;
};

/// Hash and equality that let a map keyed by PodKey be searched by PodKeyView without a copy.
struct PodKeyHash {
  using is_transparent = void;
  size_t operator()(PodKeyView key) const {
    const size_t h = std::hash<std::string_view>{}(key.ns);
    return h ^
           (std::hash<std::string_view>{}(key.name) + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2));
  }
  size_t operator()(const PodKey& key) const { return (*this)(key.View()); }
};
struct PodKeyEqual {
  using is_transparent = void;
  bool operator()(PodKeyView a, PodKeyView b) const { return a == b; }
  bool operator()(const PodKey& a, PodKeyView b) const { return a.View() == b; }
  bool operator()(PodKeyView a, const PodKey& b) const { return a == b.View(); }
  bool operator()(const PodKey& a, const PodKey& b) const { return a == b; }
};

}  // namespace activescale::metric
