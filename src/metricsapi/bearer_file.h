#pragma once

#include <string>

#include "metricsapi/access_control.h"

namespace activescale::metricsapi {

/// Lets everybody in who sends the token that a file holds. The file is read with each request, so
/// that a rotated token counts at once. Threads: any.
class BearerFile final : public AccessControl {
 public:
  explicit BearerFile(std::string path) : path_(std::move(path)) {}

  /// Errors besides: kUnavailable: the file cannot be read or is empty.
  void Check(const net::HttpRequest& request, const RequestInfo& info, Decision done) override;

 private:
  const std::string path_;
};

}  // namespace activescale::metricsapi
