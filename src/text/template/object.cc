#include "text/template/object.h"

#include "text/template/limits.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

// jinja2's object_type_repr.
std::string described(const Value& object) {
  if (object.is_none()) return "None";
  if (object.is_undefined()) return "jinja2.runtime.Undefined object";
  if (object.is_object()) {
    const ObjectType type = object.as_object()->type();
    const std::string name(type_name(object));
    if (type == ObjectType::namespace_object || type == ObjectType::cycler || type == ObjectType::joiner) {
      return "jinja2.utils." + name + " object";
    }
    if (type == ObjectType::loop || type == ObjectType::macro) return "jinja2.runtime." + name + " object";
    return name + " object";
  }
  if (object.is_markup()) return "markupsafe.Markup object";
  return std::string(type_name(object)) + " object";
}

std::string quoted(std::string_view text) { return repr(Value::string(std::string(text), Origin::template_source)); }

}  // namespace

const Value* Arguments::find_named(std::string_view name) const {
  for (const auto& [key, value] : named) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::optional<Value> Arguments::take_named(std::string_view name) {
  for (auto it = named.begin(); it != named.end(); ++it) {
    if (it->first != name) continue;
    Value value = std::move(it->second);
    named.erase(it);
    return value;
  }
  return std::nullopt;
}

Value make_undefined(std::string message) { return Value::object(std::make_shared<Undefined>(std::move(message))); }
Value undefined_name(std::string_view name) { return make_undefined(quoted(name) + " is undefined"); }

Value undefined_member(const Value& object, const Value& name) {
  if (name.is_string()) return undefined_attribute(object, name.as_text().view());
  return make_undefined(described(object) + " has no element " + repr(name));
}

Value undefined_attribute(const Value& object, std::string_view name) {
  return make_undefined(quoted(described(object)) + " has no attribute " + quoted(name));
}

std::optional<Value> Iterator::next() {
  if (finished_) return std::nullopt;
  std::optional<Value> value = next_();
  if (!value) {
    finished_ = true;
    next_ = nullptr;
  }
  return value;
}

Value make_iterator(std::string_view python_type, int held_depth, Iterator::Next next) {
  return Value::object(std::make_shared<Iterator>(python_type, held_depth, std::move(next)));
}

std::string_view DictView::python_type() const {
  return part == Part::keys ? "dict_keys" : part == Part::values ? "dict_values" : "dict_items";
}

Value DictView::at(size_t index) const {
  const auto& [key, value] = dict.as_dict().entries()[index];
  if (part == Part::keys) return key;
  if (part == Part::values) return value;
  return Value::tuple({key, value});
}

}  // namespace takt::text::jinja
