// Tokens to a tree.
#pragma once

#include <string_view>

#include "text/template/ast.h"

namespace takt::text::jinja {

// Throws TemplateFailure with a line: a syntax error, nesting deeper than kParseDepthMax, or a tag Takt does not have
// (include, import, from, extends, block, autoescape).
TemplateTree parse_template(std::string_view source);

}  // namespace takt::text::jinja
