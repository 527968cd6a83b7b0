// From parsed JSON to template values. The only header of the template engine that knows Boost.JSON.
#pragma once

#include <boost/json/fwd.hpp>
#include <string_view>

#include "base/error.h"
#include "text/template/value.h"

namespace takt::text {

// Strings and keys become user text. invalid_argument: nested deeper than the engine allows, or an integer beyond 64
// signed bits.
base::Result<jinja::Value> to_template_value(const boost::json::value& json);
// Parses and converts. invalid_argument: not JSON.
base::Result<jinja::Value> parse_template_value(std::string_view json);

}  // namespace takt::text
