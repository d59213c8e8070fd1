#pragma once

#include <curl/curl.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "net/http_client.h"

namespace activescale::net {

/// One request of HttpClient and its libcurl handle; private to it. Threads: the loop's.
struct Transfer {
  enum class Verdict : uint8_t { kNone, kTooLarge, kRefusedByStream, kIdle, kWaitedTooLong };

  Transfer() = default;
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// Makes the handle from `request`; once, before anything below.
  void Prepare();
  /// When its time is up by `timeout`; the end of time if it has none.
  [[nodiscard]] base::SteadyTime Deadline() const;
  /// What curl reads: each line of the headers, each piece of the body (false ends the request).
  void OnHeaderLine(std::string_view line);
  bool OnBody(std::string_view piece);
  /// Why it failed, for a person.
  [[nodiscard]] base::Error Failure(CURLcode code) const;

  HttpClient::RequestId id = 0;
  ClientRequest request;
  std::optional<BodyStream> stream;
  ResponseCallback done;
  ClientResponse response;
  CURL* easy = nullptr;
  base::SteadyTime submitted;
  base::SteadyTime last_activity;
  Verdict verdict = Verdict::kNone;

 private:
  void PrepareTls(const ClientTls& tls);

  curl_slist* headers_ = nullptr;
  curl_slist* connect_to_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_{};
};

}  // namespace activescale::net
