#include "net/base64.h"

#include <openssl/evp.h>

#include <algorithm>

namespace activescale::net {

std::string EncodeBase64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3), '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  return out;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  std::string dense;
  for (const char c : text) {
    if (c != '\n' && c != '\r' && c != ' ') dense.push_back(c);
  }
  if (dense.size() % 4 != 0) return std::nullopt;
  // OpenSSL decodes padding to zero bytes and takes it anywhere.
  const size_t padding = dense.size() - std::min(dense.find('='), dense.size());
  if (padding > 2) return std::nullopt;
  std::string out(dense.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(dense.data()),
                                   static_cast<int>(dense.size()));
  if (size < 0) return std::nullopt;
  out.resize(static_cast<size_t>(size) - padding);
  return out;
}

}  // namespace activescale::net
