// Python's "…" % arguments.
#pragma once

#include "text/template/value.h"

namespace takt::text::jinja {

// Precondition: format is a string. `arguments`: a tuple, a dict for %(name)s, or one value. The inserted texts keep
// their origin. Throws TemplateFailure.
Value format_percent(const Value& format, const Value& arguments);

}  // namespace takt::text::jinja
