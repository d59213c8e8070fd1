#pragma once

#include <cstdint>
#include <string_view>

namespace activescale::promql {

enum class ValueType : uint8_t { kScalar, kVector, kMatrix, kString };

/// As Prometheus's messages and its HTTP API name the type.
[[nodiscard]] std::string_view TypeName(ValueType type);

}  // namespace activescale::promql
