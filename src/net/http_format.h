#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "net/http_types.h"

namespace activescale::net {

/// What a response's bytes depend on besides the response.
struct ResponseFraming {
  bool head = false;   // the request was HEAD: the body's length is told, the body is not sent
  bool close = false;  // `Connection: close`
  base::WallTime now;  // for Date
};

/// Appends the whole response as HTTP/1.1 to `out`, to be sent in one write.
void FormatResponse(const HttpResponse& response, const ResponseFraming& framing, std::string& out);

/// The reason phrase of a status: "Not Found"; "Unknown" for one that is not used here.
[[nodiscard]] std::string_view ReasonPhrase(int status);

/// "127.0.0.1:80", "[::1]:80".
[[nodiscard]] std::string FormatAddress(std::string_view ip, uint16_t port);

}  // namespace activescale::net
