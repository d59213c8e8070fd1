#pragma once

#include <string>

namespace activescale::app {

/// docs/configuration.md, made from the table of settings.
[[nodiscard]] std::string ConfigurationMarkdown();

}  // namespace activescale::app
