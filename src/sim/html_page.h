#pragma once

#include <string>
#include <string_view>

namespace activescale::sim {

/// The begin of a page that needs nothing else, up to and with <body>: style for tables, plots and
/// keys, for light and dark, wide and narrow screens. `title` is plain text.
[[nodiscard]] std::string HtmlHead(std::string_view title);

/// Text for HTML, attributes included.
[[nodiscard]] std::string HtmlEscape(std::string_view text);

}  // namespace activescale::sim
