#pragma once

#include <string>
#include <string_view>

namespace activescale::base {

/// Appends `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD, so that
/// no input can make an answer that a client's decoder refuses.
void AppendJsonString(std::string_view text, std::string& out);

/// Whether the whole of `text` is well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms).
[[nodiscard]] bool IsUtf8(std::string_view text);

}  // namespace activescale::base
