// Substring search whose cost stays linear: std::string_view::find is quadratic for a long needle such as "aaa…ab", and
// a hostile template can write one.
#pragma once

#include <cstddef>
#include <string_view>

namespace takt::text::jinja {

// The first occurrence at or after `from`; npos: none. O(text + needle). Charges the budget for what it looks at.
size_t find_text(std::string_view text, std::string_view needle, size_t from = 0);
// The last occurrence; npos: none.
size_t find_last_text(std::string_view text, std::string_view needle);

}  // namespace takt::text::jinja
