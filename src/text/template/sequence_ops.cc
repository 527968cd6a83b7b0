// Length, iteration, subscripts and slices.
#include <algorithm>

#include "text/template/interpreter.h"
#include "text/template/limits.h"
#include "text/template/unicode.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

// Python's PySlice_AdjustIndices: the positions that a slice of a sequence of `size` selects.
struct SliceBounds {
  int64_t start, step, count;
};

int64_t clamp_index(const Value& value, int64_t size, int64_t low, int64_t high, int64_t fallback) {
  if (value.is_none()) return fallback;
  if (!value.is_integral()) {
    require_defined(value);
    fail("slice indices must be integers or None or have an __index__ method");
  }
  int64_t index = value.as_integer();
  if (index < 0) index += size;
  return std::clamp(index, low, high);
}

SliceBounds slice_bounds(int64_t size, const Value& start, const Value& stop, const Value& step) {
  const int64_t by = step.is_none() ? 1 : require_integer(step, "slice indices");
  if (by == 0) fail("slice step cannot be zero");
  const int64_t low = by < 0 ? -1 : 0;
  const int64_t high = by < 0 ? size - 1 : size;
  const int64_t from = clamp_index(start, size, low, high, by < 0 ? high : low);
  const int64_t to = clamp_index(stop, size, low, high, by < 0 ? low : high);
  const int64_t distance = by < 0 ? from - to : to - from;
  const uint64_t stride = by < 0 ? -static_cast<uint64_t>(by) : static_cast<uint64_t>(by);
  const int64_t count = distance <= 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / stride) + 1;
  return {from, by, count};
}

// Positions stay inside the sequence, so the product cannot overflow except after the last item, which is not used.
int64_t position(const SliceBounds& bounds, int64_t i) {
  return static_cast<int64_t>(static_cast<uint64_t>(bounds.start) +
                              static_cast<uint64_t>(i) * static_cast<uint64_t>(bounds.step));
}

Value slice_text(const Value& string, const SliceBounds& bounds) {
  const Text& text = string.as_text();
  Text result;
  if (bounds.step == 1) {
    const size_t begin = offset_of(text.view(), static_cast<size_t>(bounds.start));
    const size_t end = begin + offset_of(text.view().substr(begin), static_cast<size_t>(bounds.count));
    return Value::text(text.substr(begin, end), string.is_markup());
  }
  std::vector<size_t> offsets;
  for (size_t i = 0; i < text.size(); i += decode(text.view(), i).bytes) offsets.push_back(i);
  offsets.push_back(text.size());
  for (int64_t i = 0; i < bounds.count; ++i) {
    const auto at = static_cast<size_t>(position(bounds, i));
    result.append_range(text, offsets[at], offsets[at + 1]);
  }
  return Value::text(std::move(result), string.is_markup());
}

std::optional<size_t> checked_index(int64_t index, int64_t size) {
  if (index < 0) index += size;
  if (index < 0 || index >= size) return std::nullopt;
  return static_cast<size_t>(index);
}

Iterator::Next stream_text(const Value& string) {
  return [string, offset = size_t{0}]() mutable -> std::optional<Value> {
    const Text& text = string.as_text();
    if (offset >= text.size()) return std::nullopt;
    const size_t begin = offset;
    offset += decode(text.view(), begin).bytes;
    return Value::text(text.substr(begin, offset));  // plain even when the whole is markup, as in Python
  };
}

Iterator::Next stream_object(const Value& value) {
  switch (value.as_object()->type()) {
    case ObjectType::undefined: return [] { return std::optional<Value>(); };
    case ObjectType::range:
      return [value, i = int64_t{0}]() mutable -> std::optional<Value> {
        const auto& range = static_cast<Range&>(*value.as_object());
        if (i >= range.length()) return std::nullopt;
        return Value::integer(range.start + range.step * i++);
      };
    case ObjectType::iterator: return [value] { return static_cast<Iterator&>(*value.as_object()).next(); };
    case ObjectType::dict_view:
      return [value, i = size_t{0}]() mutable -> std::optional<Value> {
        const auto& view = static_cast<DictView&>(*value.as_object());
        if (i >= view.dict.as_dict().size()) return std::nullopt;
        return view.at(i++);
      };
    case ObjectType::loop:
      return [value]() -> std::optional<Value> {
        std::optional<Value> item = static_cast<Loop&>(*value.as_object()).advance();
        if (!item) return std::nullopt;
        return Value::tuple({*std::move(item), value});
      };
    default: fail("'" + std::string(type_name(value)) + "' object is not iterable");
  }
}

}  // namespace

int64_t Range::length() const {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  return static_cast<int64_t>((distance - 1) / stride) + 1;
}

std::optional<int64_t> length(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::string:
      Budget::work(value.as_text().size());
      return static_cast<int64_t>(count_code_points(value.as_text().view()));
    case Value::Kind::list:
    case Value::Kind::tuple: return static_cast<int64_t>(value.items().size());
    case Value::Kind::dict: return static_cast<int64_t>(value.as_dict().size());
    case Value::Kind::object: break;
    default: return std::nullopt;
  }
  switch (value.as_object()->type()) {
    case ObjectType::undefined: return 0;
    case ObjectType::range: return static_cast<Range&>(*value.as_object()).length();
    case ObjectType::loop: return static_cast<Loop&>(*value.as_object()).length();
    case ObjectType::dict_view:
      return static_cast<int64_t>(static_cast<DictView&>(*value.as_object()).dict.as_dict().size());
    default: return std::nullopt;
  }
}

int64_t require_length(const Value& value) {
  const std::optional<int64_t> count = length(value);
  if (!count) fail("object of type '" + std::string(type_name(value)) + "' has no len()");
  return *count;
}

bool is_iterable(const Value& value) {
  if (value.is_string() || value.is_sequence() || value.is_dict()) return true;
  if (!value.is_object()) return false;
  switch (value.as_object()->type()) {
    case ObjectType::undefined:
    case ObjectType::range:
    case ObjectType::iterator:
    case ObjectType::loop:
    case ObjectType::dict_view: return true;
    default: return false;
  }
}

Iterator::Next stream(const Value& iterable) {
  switch (iterable.kind()) {
    case Value::Kind::string: return stream_text(iterable);
    case Value::Kind::list:
    case Value::Kind::tuple:
      return [iterable, i = size_t{0}]() mutable -> std::optional<Value> {
        if (i >= iterable.items().size()) return std::nullopt;
        return iterable.items()[i++];
      };
    case Value::Kind::dict:
      return [iterable, i = size_t{0}]() mutable -> std::optional<Value> {
        if (i >= iterable.as_dict().size()) return std::nullopt;
        return iterable.as_dict().entries()[i++].first;
      };
    case Value::Kind::object: return stream_object(iterable);
    default: fail("'" + std::string(type_name(iterable)) + "' object is not iterable");
  }
}

void iterate(const Value& iterable, const std::function<bool(const Value&)>& visit) {
  const Iterator::Next next = stream(iterable);
  while (const std::optional<Value> item = next()) {
    Budget::step();
    if (!visit(*item)) return;
  }
}

std::vector<Value> to_vector(const Value& iterable) {
  std::vector<Value> items;
  iterate(iterable, [&](const Value& item) {
    items.push_back(item);
    return true;
  });
  return items;
}

Value slice(const Value& object, const Value& start, const Value& stop, const Value& step) {
  if (object.is_string()) {
    return slice_text(object, slice_bounds(require_length(object), start, stop, step));
  }
  if (object.is_sequence()) {
    const SliceBounds bounds = slice_bounds(require_length(object), start, stop, step);
    Budget::work(static_cast<size_t>(bounds.count) * sizeof(Value));
    std::vector<Value> items;
    items.reserve(static_cast<size_t>(bounds.count));
    for (int64_t i = 0; i < bounds.count; ++i)
      items.push_back(object.items()[static_cast<size_t>(position(bounds, i))]);
    return object.is_tuple() ? Value::tuple(std::move(items)) : Value::list(std::move(items));
  }
  if (const auto* const range = object_cast<Range>(object, ObjectType::range)) {
    const SliceBounds bounds = slice_bounds(range->length(), start, stop, step);
    const int64_t by = range->step * bounds.step;
    const int64_t from = range->start + range->step * bounds.start;
    return Value::object(std::make_shared<Range>(from, from + by * bounds.count, by));
  }
  require_defined(object);
  if (object.is_dict()) fail("unhashable type: 'slice'");
  fail("'" + std::string(type_name(object)) + "' object is not subscriptable");
}

std::optional<Value> subscript(const Value& object, const Value& key) {
  if (object.is_dict()) {
    if (key.is_list() || key.is_dict()) return std::nullopt;
    const Value* const found = object.as_dict().find(key);
    return found == nullptr ? std::nullopt : std::optional<Value>(*found);
  }
  require_defined(object);
  if (!key.is_integral()) return std::nullopt;
  if (object.is_sequence()) {
    const auto index = checked_index(key.as_integer(), static_cast<int64_t>(object.items().size()));
    return index ? std::optional<Value>(object.items()[*index]) : std::nullopt;
  }
  if (object.is_string()) {
    const auto index = checked_index(key.as_integer(), require_length(object));
    if (!index) return std::nullopt;
    const size_t begin = offset_of(object.as_text().view(), *index);
    const size_t end = begin + decode(object.as_text().view(), begin).bytes;
    return Value::text(object.as_text().substr(begin, end), object.is_markup());
  }
  if (const auto* const range = object_cast<Range>(object, ObjectType::range)) {
    const auto index = checked_index(key.as_integer(), range->length());
    if (index) return Value::integer(range->start + range->step * static_cast<int64_t>(*index));
  }
  return std::nullopt;
}

int64_t require_integer(const Value& value, std::string_view what) {
  require_defined(value);
  if (!value.is_integral()) {
    if (what == "slice indices") fail("slice indices must be integers or None or have an __index__ method");
    fail("'" + std::string(type_name(value)) + "' object cannot be interpreted as an integer");
  }
  return value.as_integer();
}

}  // namespace takt::text::jinja
