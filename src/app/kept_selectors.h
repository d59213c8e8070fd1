#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "series/matcher.h"

namespace activescale::app {

/// Selectors between commas that are neither in braces nor in quotes.
[[nodiscard]] std::vector<std::string> SplitSelectors(std::string_view text);

/// Errors: kInvalidArgument: one is no PromQL selector, or has an offset or a range.
[[nodiscard]] base::Result<std::vector<series::Matchers>> ParseSelectors(
    const std::vector<std::string>& selectors);

}  // namespace activescale::app
