// Filters on sequences and mappings.
#include <algorithm>

#include "text/template/filters.h"
#include "text/template/limits.h"
#include "text/template/text_ops.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

Value length_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments none("len", arguments, {});
  return Value::integer(require_length(value));
}

Value first_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments none("do_first", arguments, {});
  return stream(value)().value_or(make_undefined("No first item, sequence was empty."));
}

// Python's reversed(): nullopt for what has no reverse.
std::optional<Value> reversed(const Value& value) {
  const bool one_pass = object_cast<Iterator>(value, ObjectType::iterator) != nullptr;
  if (one_pass || !is_iterable(value)) return std::nullopt;
  std::vector<Value> items = to_vector(value);
  std::reverse(items.begin(), items.end());
  const Value list = Value::list(std::move(items));
  return make_iterator(value.is_list() ? "list_reverseiterator" : "reversed", list.depth(), stream(list));
}

Value last_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments none("do_last", arguments, {});
  const std::optional<Value> backwards = reversed(value);
  if (!backwards) fail("'" + std::string(type_name(value)) + "' object is not reversible");
  return stream(*backwards)().value_or(make_undefined("No last item, sequence was empty."));
}

Value reverse_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments none("do_reverse", arguments, {});
  if (value.is_string()) return slice(value, {}, {}, Value::integer(-1));
  if (std::optional<Value> backwards = reversed(value)) return *std::move(backwards);
  if (!is_iterable(value)) fail("argument must be iterable");
  std::vector<Value> items = to_vector(value);
  std::reverse(items.begin(), items.end());
  return Value::list(std::move(items));
}

Value list_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments none("do_list", arguments, {});
  return Value::list(to_vector(value));
}

Value join_filter(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_join", arguments, {"d", "attribute"});
  const AttributePath path = bound.given(1) ? AttributePath(bound[1]) : AttributePath();
  std::vector<Text> parts;
  iterate(value, [&](const Value& item) {
    parts.push_back(to_text(path.of(interpreter, item)));
    return true;
  });
  return Value::text(join(bound.has(0) ? to_text(bound[0]) : Text(), parts));
}

Value items_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments none("do_items", arguments, {});
  if (value.is_undefined()) return make_iterator("generator", 0, [] { return std::optional<Value>(); });
  if (!value.is_dict()) fail("Can only get item pairs from a mapping.");
  return make_iterator("generator", value.depth(),
                       stream(Value::object(std::make_shared<DictView>(value, DictView::Part::items))));
}

template <class Key>
std::vector<Value> sorted(std::vector<Value> items, bool descending, const Key& key) {
  std::vector<std::pair<Value, Value>> keyed;
  for (Value& item : items) {
    Value k = key(item);
    keyed.emplace_back(std::move(k), std::move(item));
  }
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return descending ? ordered(b.first, a.first, Order::less) : ordered(a.first, b.first, Order::less);
  });
  std::vector<Value> result;
  for (auto& [k, item] : keyed) result.push_back(std::move(item));
  return result;
}

Value dictsort_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string by = bound.has(1) ? to_text(bound[1]).bytes() : "key";
  if (by != "key" && by != "value") fail("You can only sort by either \"key\" or \"value\"");
  require_defined(value);
  if (!value.is_dict()) fail("'" + std::string(type_name(value)) + "' object has no attribute 'items'");
  std::vector<Value> pairs;
  for (const auto& [key, member] : value.as_dict().entries()) pairs.push_back(Value::tuple({key, member}));
  const size_t position = by == "key" ? 0 : 1;
  return Value::list(sorted(std::move(pairs), bound.flag(2, false),
                            [&](const Value& pair) { return folded(pair.items()[position], bound.flag(0, false)); }));
}

Value sort_filter(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_sort", arguments, {"reverse", "case_sensitive", "attribute"});
  std::vector<AttributePath> paths;
  if (bound.given(2) && bound[2].is_string()) {
    for (const Text& part : split(bound[2].as_text(), ",", -1)) paths.emplace_back(Value::text(part));
  } else {
    paths.push_back(bound.given(2) ? AttributePath(bound[2]) : AttributePath());
  }
  return Value::list(sorted(to_vector(value), bound.flag(0, false), [&](const Value& item) {
    std::vector<Value> keys;
    for (const AttributePath& path : paths) keys.push_back(folded(path.of(interpreter, item), bound.flag(1, false)));
    return Value::list(std::move(keys));
  }));
}

Value unique_filter(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_unique", arguments, {"case_sensitive", "attribute"});
  const bool case_sensitive = bound.flag(0, false);
  AttributePath path = bound.given(1) ? AttributePath(bound[1]) : AttributePath();
  auto seen = std::make_shared<Dict>();
  return make_iterator(
      "generator", value.depth(),
      [&interpreter, case_sensitive, path = std::move(path), seen, next = stream(value)]() -> std::optional<Value> {
        while (std::optional<Value> item = next()) {
          Budget::step();
          const Value key = folded(path.of(interpreter, *item), case_sensitive);
          if (seen->find(key) != nullptr) continue;
          seen->set(key, Value());
          return item;
        }
        return std::nullopt;
      });
}

template <Order better>
Value extreme_filter(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_min", arguments, {"case_sensitive", "attribute"});
  const AttributePath path = bound.given(1) ? AttributePath(bound[1]) : AttributePath();
  std::optional<Value> best, best_key;
  iterate(value, [&](const Value& item) {
    Value key = folded(path.of(interpreter, item), bound.flag(0, false));
    if (!best || ordered(key, *best_key, better)) {
      best = item;
      best_key = std::move(key);
    }
    return true;
  });
  return best.value_or(make_undefined("No aggregated item, sequence was empty."));
}

Value sum_filter(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_sum", arguments, {"attribute", "start"});
  const AttributePath path = bound.given(0) ? AttributePath(bound[0]) : AttributePath();
  Value total = bound.value_or(1, Value::integer(0));
  if (total.is_string()) fail("sum() can't sum strings [use ''.join(seq) instead]");
  iterate(value, [&](const Value& item) {
    total = binary(BinaryOperator::add, total, path.of(interpreter, item));
    return true;
  });
  return total;
}

Value batch_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_batch", arguments, {"linecount", "fill_with"}, 1);
  const auto size = static_cast<size_t>(std::max<int64_t>(bound.integer(0, 1), 0));
  const Value fill = bound.value_or(1, {});
  return make_iterator("generator", std::max(value.depth(), fill.depth()),
                       [size, fill, next = stream(value), pending = std::optional<Value>(),
                        begun = false]() mutable -> std::optional<Value> {
                         if (!begun) pending = next();
                         begun = true;
                         if (!pending) return std::nullopt;
                         std::vector<Value> row;
                         for (; pending && (row.size() < size || row.empty()); pending = next()) {
                           Budget::step();
                           row.push_back(*pending);
                         }
                         if (!pending && !fill.is_none()) {
                           Budget::require(size * sizeof(Value));
                           while (row.size() < size) row.push_back(fill);
                         }
                         return Value::list(std::move(row));
                       });
}

Value slice_filter(Interpreter&, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_slice", arguments, {"slices", "fill_with"}, 1);
  const std::vector<Value> items = to_vector(value);
  const int64_t slices = bound.integer(0, 1);
  if (slices == 0) fail("integer division or modulo by zero");
  const auto count = static_cast<int64_t>(items.size());
  const int64_t per_slice = slices > 0 ? count / slices : 0, extra = slices > 0 ? count % slices : 0;
  std::vector<Value> result;
  auto at = items.begin();
  for (int64_t i = 0; i < slices; ++i) {
    Budget::step();
    const int64_t size = per_slice + (i < extra ? 1 : 0);
    std::vector<Value> part(at, at + size);
    at += size;
    if (bound.given(1) && i >= extra) part.push_back(bound[1]);
    result.push_back(Value::list(std::move(part)));
  }
  const Value list = Value::list(std::move(result));
  return make_iterator("generator", list.depth(), stream(list));
}

Value groupby_filter(Interpreter& interpreter, const Value& value, Arguments& arguments) {
  const BoundArguments bound("do_groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  const AttributePath path(bound[0]);
  const Value fallback = bound.value_or(1, {});
  const bool case_sensitive = bound.flag(2, false);
  const auto member = [&](const Value& item) { return path.of(interpreter, item, &fallback); };
  const auto key = [&](const Value& item) { return folded(member(item), case_sensitive); };
  std::vector<Value> groups, current;
  Value current_key;
  const auto close = [&] {
    if (current.empty()) return;
    const Value shown = case_sensitive ? current_key : member(current[0]);
    groups.push_back(Value::group(shown, Value::list(std::move(current))));
    current.clear();
  };
  for (Value& item : sorted(to_vector(value), false, key)) {
    Value item_key = key(item);
    if (!current.empty() && !equals(item_key, current_key)) close();
    current_key = std::move(item_key);
    current.push_back(std::move(item));
  }
  close();
  return Value::list(std::move(groups));
}

}  // namespace

void add_sequence_filters(FilterTable& table) {
  table["length"] = table["count"] = length_filter;
  table["first"] = first_filter;
  table["last"] = last_filter;
  table["reverse"] = reverse_filter;
  table["list"] = list_filter;
  table["join"] = join_filter;
  table["items"] = items_filter;
  table["dictsort"] = dictsort_filter;
  table["sort"] = sort_filter;
  table["unique"] = unique_filter;
  table["min"] = extreme_filter<Order::less>;
  table["max"] = extreme_filter<Order::greater>;
  table["sum"] = sum_filter;
  table["batch"] = batch_filter;
  table["slice"] = slice_filter;
  table["groupby"] = groupby_filter;
}

}  // namespace takt::text::jinja
