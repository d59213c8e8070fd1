#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace activescale::net {

/// Standard base64 with padding, as Kubernetes writes bytes in JSON and YAML.
[[nodiscard]] std::string EncodeBase64(std::string_view bytes);

/// Nothing if `text` is not base64. White space is passed over: kubeconfigs are edited by hand.
[[nodiscard]] std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace activescale::net
