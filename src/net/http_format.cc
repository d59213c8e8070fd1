#include "net/http_format.h"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <iterator>
#include <utility>

namespace activescale::net {

namespace {

/// Source: IANA's registry of HTTP status codes.
constexpr std::array<std::pair<int, std::string_view>, 20> kReasons = {{
    {200, "OK"},
    {201, "Created"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
}};

constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/// RFC 9110, 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT".
void AppendDate(base::WallTime now, std::string& out) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm calendar{};
  gmtime_r(&seconds, &calendar);
  fmt::format_to(std::back_inserter(out), "{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                 kDays[calendar.tm_wday], calendar.tm_mday, kMonths[calendar.tm_mon],
                 calendar.tm_year + 1900, calendar.tm_hour, calendar.tm_min, calendar.tm_sec);
}

}  // namespace

std::string_view ReasonPhrase(int status) {
  for (const auto& [code, phrase] : kReasons) {
    if (code == status) return phrase;
  }
  return "Unknown";
}

std::string FormatAddress(std::string_view ip, uint16_t port) {
  const bool v6 = ip.find(':') != std::string_view::npos;
  return v6 ? fmt::format("[{}]:{}", ip, port) : fmt::format("{}:{}", ip, port);
}

void FormatResponse(const HttpResponse& response, const ResponseFraming& framing,
                    std::string& out) {
  out.reserve(out.size() + response.body.size() + 512);
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\nDate: ", response.status,
                 ReasonPhrase(response.status));
  AppendDate(framing.now, out);
  fmt::format_to(std::back_inserter(out), "\r\nContent-Type: {}\r\n", response.content_type);
  if (!response.stream) {  // its length is not known, and its end is that of the connection
    fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", response.body.size());
  }
  for (const auto& [name, value] : response.headers) {
    fmt::format_to(std::back_inserter(out), "{}: {}\r\n", name, value);
  }
  if (framing.close) out += "Connection: close\r\n";
  out += "\r\n";
  if (!framing.head) out += response.body;
}

}  // namespace activescale::net
