#pragma once

#include <string>
#include <vector>

#include "app/config.h"
#include "app/settings.h"

namespace activescale::app {

/// The part of the table of settings that is about signals and those who read them.
[[nodiscard]] std::vector<Setting> SignalSettings();

/// What is wrong with those although each alone is right.
[[nodiscard]] std::vector<std::string> SignalFaults(const Config& config);

}  // namespace activescale::app
