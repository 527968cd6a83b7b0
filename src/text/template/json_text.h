// The filter tojson as transformers defines it: Python's json.dumps with ensure_ascii off by default.
#pragma once

#include <string>

#include "text/template/value.h"

namespace takt::text::jinja {

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool indented = false;
  std::string indent;  // once per level, when indented
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

// The whole result is the user's text if any string in `value` is. Throws TemplateFailure for a value that JSON has not.
Value to_json(const Value& value, const JsonStyle& style);

}  // namespace takt::text::jinja
