// The tables of filters, one per subject.
#pragma once

#include <string_view>
#include <unordered_map>

#include "text/template/builtins.h"

namespace takt::text::jinja {

using FilterTable = std::unordered_map<std::string_view, FilterFunction>;

void add_text_filters(FilterTable& table);
void add_number_filters(FilterTable& table);
void add_sequence_filters(FilterTable& table);
void add_selection_filters(FilterTable& table);

// Looks up "a.b.0" from an item, as the `attribute` argument of many filters asks for.
class AttributePath {
 public:
  AttributePath() = default;  // the item itself
  explicit AttributePath(const Value& attribute);
  // `fallback`: stands in for an undefined member (null: none).
  Value of(Interpreter& interpreter, const Value& item, const Value* fallback = nullptr) const;
  int depth() const;

 private:
  std::vector<Value> parts_;
};

// For comparing without regard to case: a string in lower case, anything else as it is.
Value folded(const Value& value, bool case_sensitive);

}  // namespace takt::text::jinja
