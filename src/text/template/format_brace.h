// Python's "…".format(…).
#pragma once

#include "text/template/interpreter.h"

namespace takt::text::jinja {

// Precondition: format is a string. Throws TemplateFailure.
Value format_brace(Interpreter& interpreter, const Value& format, Arguments& arguments);

}  // namespace takt::text::jinja
