#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "net/http_types.h"

namespace activescale::queryapi {

/// The parameters of a request: of a form in the body, then of the target's query, so that the
/// body's come first as in Go's Request.FormValue.
class Form {
 public:
  /// Errors: kInvalidArgument: a broken escape.
  [[nodiscard]] static base::Result<Form> Parse(const net::HttpRequest& request);

  /// The first value; nothing if the parameter is absent or empty. Valid while this is.
  [[nodiscard]] std::optional<std::string_view> Find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string_view> FindAll(std::string_view name) const;

 private:
  [[nodiscard]] base::Result<void> Add(std::string_view encoded);

  std::vector<std::pair<std::string, std::string>> values_;
};

}  // namespace activescale::queryapi
