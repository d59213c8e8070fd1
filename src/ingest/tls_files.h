#pragma once

#include <string>

#include "base/error.h"

namespace activescale::ingest {

/// Files of a server's identity; all "" for plaintext.
struct TlsFiles {
  std::string certificate;  // PEM, leaf first
  std::string private_key;  // PEM
  std::string client_ca;    // PEM; not "": clients must show a certificate that it signed
};

/// What gRPC would only say in each failing handshake.
/// Errors: kInvalidArgument if a file cannot be read or is not PEM, or if the key is not the
/// certificate's.
[[nodiscard]] base::Result<void> CheckTlsFiles(const TlsFiles& files);

}  // namespace activescale::ingest
