#include "base/file_text.h"

#include <fstream>
#include <iterator>

namespace activescale::base {

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return std::nullopt;
  return text;
}

std::optional<std::string> ReadTokenFile(const std::string& path) {
  auto token = ReadFile(path);
  if (!token) return std::nullopt;
  token->erase(token->find_last_not_of(" \t\r\n") + 1);
  if (token->empty()) return std::nullopt;
  return token;
}

}  // namespace activescale::base
