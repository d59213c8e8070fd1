#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace activescale::metric::testing {

/// One line of a file in testdata/: what Kubernetes' own parser makes of `input`.
struct Vector {
  std::string input;
  std::string want;  // "!error" if it refuses
};

/// Reads testdata/<name>, recorded by tools/vectors. Empty if there is no such file.
std::vector<Vector> ReadVectors(std::string_view name);

}  // namespace activescale::metric::testing
