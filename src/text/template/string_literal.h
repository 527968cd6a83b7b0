// Escapes in a template's string literals.
#pragma once

#include <string>
#include <string_view>

namespace takt::text::jinja {

// `body` is what stands between the quotes. Python's rules: \n, \x41, \u00e9, \101, …; an unknown escape stays as it is.
// Throws TemplateFailure at `line` for a cut escape, for \N{…} and for a surrogate, which no UTF-8 text can hold.
std::string unescape_string_literal(std::string_view body, int line);

}  // namespace takt::text::jinja
