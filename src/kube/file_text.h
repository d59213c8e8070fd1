#pragma once

#include <optional>
#include <string>

namespace activescale::kube {

/// The whole of a small file; nothing if it cannot be read.
[[nodiscard]] std::optional<std::string> ReadFile(const std::string& path);

}  // namespace activescale::kube
