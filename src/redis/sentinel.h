#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "redis/address.h"
#include "redis/resp.h"

namespace activescale::redis {

/// Reads the answer of SENTINEL GET-MASTER-ADDR-BY-NAME.
/// Errors: kNotFound if the Sentinel does not know the name, kInternal if it has another form.
[[nodiscard]] base::Result<Address> ParseMasterAddress(const Reply& reply, std::string_view name);

/// The new master out of a Sentinel's event "+switch-master" ("name oldip oldport newip newport");
/// nothing if the event is another one or about another name.
[[nodiscard]] std::optional<Address> ParseSwitchMaster(const Reply& event, std::string_view name);

/// Checks the answer of ROLE. Errors: kUnavailable if it is not a master, saying what it is.
[[nodiscard]] base::Result<void> RequireMaster(const Reply& reply);

}  // namespace activescale::redis
