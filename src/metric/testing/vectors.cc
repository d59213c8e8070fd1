#include "metric/testing/vectors.h"

#include <fstream>

namespace activescale::metric::testing {
namespace {

std::string Unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    out += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
  }
  return out;
}

}  // namespace

std::vector<Vector> ReadVectors(std::string_view name) {
  std::ifstream file(std::string(ACTIVESCALE_METRIC_TESTDATA "/").append(name));
  std::vector<Vector> vectors;
  for (std::string line; std::getline(file, line);) {
    const size_t tab = line.find('\t');
    if (line.starts_with('#') || tab == std::string::npos) continue;
    vectors.push_back({Unescape(line.substr(0, tab)), line.substr(tab + 1)});
  }
  return vectors;
}

}  // namespace activescale::metric::testing
