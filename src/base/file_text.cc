#include "base/file_text.h"

#include <array>
#include <cerrno>
#include <fstream>
#include <utility>

namespace activescale::base {
namespace {

std::unexpected<std::error_code> LastError() {
  return std::unexpected(std::error_code(errno == 0 ? EIO : errno, std::generic_category()));
}

}  // namespace

std::expected<std::string, std::error_code> ReadFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return LastError();
  std::string text;
  std::array<char, 16384> part{};
  do {
    file.read(part.data(), part.size());
    text.append(part.data(), static_cast<size_t>(file.gcount()));
  } while (file);
  if (file.bad()) return LastError();
  return text;
}

std::optional<std::string> ReadTokenFile(const std::string& path) {
  auto token = ReadFile(path);
  if (!token) return std::nullopt;
  token->erase(token->find_last_not_of(" \t\r\n") + 1);
  if (token->empty()) return std::nullopt;
  return *std::move(token);
}

}  // namespace activescale::base
