// Methods of lists, tuples, dicts and the engine's objects; which names are methods at all.
#include <algorithm>
#include <cmath>

#include "text/template/builtins.h"
#include "text/template/limits.h"
#include "text/template/value_ops.h"

namespace takt::text::jinja {
namespace {

using Names = std::initializer_list<std::string_view>;

bool one_of(std::string_view name, Names names) { return std::find(names.begin(), names.end(), name) != names.end(); }

bool is_string_method(std::string_view name) {
  return one_of(name,
                {"capitalize", "casefold",     "center",       "count",   "encode",     "endswith",    "expandtabs",
                 "find",       "format",       "format_map",   "index",   "isalnum",    "isalpha",     "isascii",
                 "isdecimal",  "isdigit",      "isidentifier", "islower", "isnumeric",  "isprintable", "isspace",
                 "istitle",    "isupper",      "join",         "ljust",   "lower",      "lstrip",      "maketrans",
                 "partition",  "removeprefix", "removesuffix", "replace", "rfind",      "rindex",      "rjust",
                 "rpartition", "rsplit",       "rstrip",       "split",   "splitlines", "startswith",  "strip",
                 "swapcase",   "title",        "translate",    "upper",   "zfill"});
}

bool is_object_method(ObjectType type, std::string_view name) {
  switch (type) {
    case ObjectType::loop: return one_of(name, {"cycle", "changed"});
    case ObjectType::cycler: return one_of(name, {"next", "reset"});
    case ObjectType::range: return one_of(name, {"count", "index"});
    case ObjectType::dict_view: return one_of(name, {"isdisjoint", "mapping"});
    default: return false;
  }
}

Value call_dict_method(const Value& self, std::string_view name, Arguments& arguments) {
  const auto view = [&](DictView::Part part) {
    const BoundArguments none(name, arguments, {});
    return Value::object(std::make_shared<DictView>(self, part));
  };
  if (name == "keys") return view(DictView::Part::keys);
  if (name == "values") return view(DictView::Part::values);
  if (name == "items") return view(DictView::Part::items);
  if (name == "copy") return self;
  if (name == "get") {
    if (!arguments.named.empty()) fail("dict.get() takes no keyword arguments");
    const BoundArguments bound("get", arguments, {"key", "default"}, 1);
    const Value* const found = self.as_dict().find(bound[0]);
    return found != nullptr ? *found : bound.value_or(1, {});
  }
  fail("the dict method '" + std::string(name) + "' is not supported");
}

Value call_sequence_method(const Value& self, std::string_view name, Arguments& arguments) {
  if (name == "copy") return self;
  const BoundArguments bound(name, arguments, {"value", "start", "stop"}, 1);
  int64_t count = 0, position = 0;
  int64_t found = -1;
  iterate(self, [&](const Value& item) {
    if (equals(item, bound[0])) {
      ++count;
      if (found < 0) found = position;
    }
    ++position;
    return true;
  });
  if (name == "count") return Value::integer(count);
  if (name == "index" && !bound.has(1)) {
    if (found < 0) fail(repr(bound[0]) + " is not in " + std::string(type_name(self)));
    return Value::integer(found);
  }
  fail("the method '" + std::string(name) + "' is not supported with these arguments");
}

Value call_loop_method(Loop& loop, std::string_view name, Arguments& arguments) {
  if (name == "changed") return Value::boolean(loop.changed(arguments.positional));
  if (arguments.positional.empty()) fail("no items for cycling given");
  const auto count = static_cast<int64_t>(arguments.positional.size());
  return arguments.positional[static_cast<size_t>(std::max<int64_t>(loop.index0, 0) % count)];
}

Value call_cycler_method(Cycler& cycler, std::string_view name) {
  if (name == "reset") {
    cycler.position = 0;
    return {};
  }
  const Value current = cycler.items.items()[cycler.position];
  cycler.position = (cycler.position + 1) % cycler.items.items().size();
  return current;
}

Value call_number_method(const Value& self, std::string_view name) {
  if (name == "is_integer") {
    const double real = self.to_real();
    return Value::boolean(std::isfinite(real) && std::floor(real) == real);
  }
  if (name == "conjugate") return self;
  if (name == "bit_length") {
    uint64_t magnitude =
        self.as_integer() < 0 ? -static_cast<uint64_t>(self.as_integer()) : static_cast<uint64_t>(self.as_integer());
    int64_t bits = 0;
    for (; magnitude != 0; magnitude >>= 1) ++bits;
    return Value::integer(bits);
  }
  fail("the number method '" + std::string(name) + "' is not supported");
}

}  // namespace

bool has_method(const Value& object, std::string_view name) {
  switch (object.kind()) {
    case Value::Kind::string: return is_string_method(name);
    case Value::Kind::list:
      return one_of(
          name, {"append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"});
    case Value::Kind::tuple: return one_of(name, {"count", "index"});
    case Value::Kind::dict:
      return one_of(name, {"clear", "copy", "fromkeys", "get", "items", "keys", "pop", "popitem", "setdefault",
                           "update", "values"});
    case Value::Kind::boolean:
    case Value::Kind::integer:
      return one_of(name, {"as_integer_ratio", "bit_count", "bit_length", "conjugate", "to_bytes", "from_bytes"});
    case Value::Kind::real: return one_of(name, {"as_integer_ratio", "conjugate", "fromhex", "hex", "is_integer"});
    case Value::Kind::object: return is_object_method(object.as_object()->type(), name);
    default: return false;
  }
}

bool is_mutator(const Value& object, std::string_view name) {
  if (object.is_list())
    return one_of(name, {"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"});
  return object.is_dict() && one_of(name, {"clear", "pop", "popitem", "setdefault", "update"});
}

Value call_method(Interpreter& interpreter, const BoundMethod& method, Arguments& arguments) {
  const Value& self = method.self;
  switch (self.kind()) {
    case Value::Kind::string: return call_string_method(interpreter, self, method.name, arguments);
    case Value::Kind::dict: return call_dict_method(self, method.name, arguments);
    case Value::Kind::list:
    case Value::Kind::tuple: return call_sequence_method(self, method.name, arguments);
    case Value::Kind::object: break;
    default: return call_number_method(self, method.name);
  }
  switch (self.as_object()->type()) {
    case ObjectType::loop: return call_loop_method(static_cast<Loop&>(*self.as_object()), method.name, arguments);
    case ObjectType::cycler: return call_cycler_method(static_cast<Cycler&>(*self.as_object()), method.name);
    case ObjectType::range: return call_sequence_method(self, method.name, arguments);
    default: fail("the method '" + method.name + "' is not supported");
  }
}

BoundArguments::BoundArguments(std::string_view function, Arguments& arguments,
                               std::initializer_list<std::string_view> names, size_t required)
    : values_(names.size(), nullptr) {
  const std::string called = std::string(function) + "()";
  if (arguments.positional.size() > names.size()) {
    fail(called + " takes at most " + std::to_string(names.size()) + " arguments (" +
         std::to_string(arguments.positional.size()) + " given)");
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) fail(called + " got an unexpected keyword argument '" + name + "'");
    const Value*& target = values_[static_cast<size_t>(found - names.begin())];
    if (target != nullptr) fail(called + " got multiple values for argument '" + name + "'");
    target = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (values_[i] == nullptr) fail(called + " missing required argument: '" + std::string(names.begin()[i]) + "'");
  }
}

bool BoundArguments::flag(size_t i, bool fallback) const { return has(i) ? truthy(*values_[i]) : fallback; }

int64_t BoundArguments::integer(size_t i, int64_t fallback) const {
  return has(i) ? require_integer(*values_[i], "argument") : fallback;
}

const Text& require_text(const Value& value, std::string_view what) {
  require_defined(value);
  if (!value.is_string()) fail(std::string(what) + " must be str, not " + std::string(type_name(value)));
  return value.as_text();
}

Value make_text(Text text, const Value& like) { return Value::text(std::move(text), like.is_markup()); }

}  // namespace takt::text::jinja
