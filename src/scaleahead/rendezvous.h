#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace activescale::scaleahead {

/// Which of `members` is to act for `key`: the one with the highest hash of both. Everybody who
/// knows the same members chooses the same, and when one goes only its keys move. Empty without
/// members. Threads: any.
[[nodiscard]] std::string_view Winner(const std::vector<std::string>& members,
                                      std::string_view key);

}  // namespace activescale::scaleahead
