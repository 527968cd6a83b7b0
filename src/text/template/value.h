// The values a template works on: Python's None, bool, int (64 bits), float, str, list, tuple and dict, plus the
// engine's own objects (undefined, loops, macros, …). Containers are immutable and shared, so a copy is cheap.
//
// Build inputs like this:
//   Dict message;
//   message.set("role", Value::string("user"));
//   message.set("content", Value::string("Hello"));
//   Value messages = Value::list({Value::dict(std::move(message))});
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/template/provenance_text.h"

namespace takt::text::jinja {

class Dict;
class Object;  // engine-internal values, see object.h

struct Rep {  // shared storage of a value
  virtual ~Rep() = default;
};

class Value {
 public:
  enum class Kind : uint8_t { missing, none, boolean, integer, real, string, list, tuple, dict, object };

  Value() = default;  // None
  static Value none() { return {}; }
  static Value missing();  // "no value here"; never visible to a template
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value real(double value);
  // What a caller passes is the user's unless it says otherwise.
  static Value string(std::string utf8, Origin origin = Origin::user);
  static Value text(Text text, bool markup = false);
  // Throw TemplateFailure (see limits.h) when nested deeper than kValueDepthMax.
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  // A member of groupby's result: a pair that also answers to .grouper and .list.
  static Value group(Value key, Value members);
  static Value dict(Dict entries);
  static Value object(std::shared_ptr<Object> object);

  Kind kind() const { return kind_; }
  bool is_missing() const { return kind_ == Kind::missing; }
  bool is_none() const { return kind_ == Kind::none; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  bool is_integer() const { return kind_ == Kind::integer; }
  bool is_integral() const { return kind_ == Kind::integer || kind_ == Kind::boolean; }  // Python: bool is an int
  bool is_real() const { return kind_ == Kind::real; }
  bool is_number() const { return is_integral() || is_real(); }
  bool is_string() const { return kind_ == Kind::string; }
  bool is_list() const { return kind_ == Kind::list; }
  bool is_tuple() const { return kind_ == Kind::tuple; }
  bool is_group() const;
  bool is_sequence() const { return is_list() || is_tuple(); }
  bool is_dict() const { return kind_ == Kind::dict; }
  bool is_object() const { return kind_ == Kind::object; }
  bool is_undefined() const;

  // Preconditions: the matching kind.
  bool as_boolean() const { return number_.integer != 0; }
  int64_t as_integer() const { return number_.integer; }  // of a boolean: 0 or 1
  double as_real() const { return number_.real; }
  double to_real() const { return is_real() ? number_.real : static_cast<double>(number_.integer); }
  const Text& as_text() const;
  bool is_markup() const;  // an escaped string (filters escape, safe); false for other kinds
  const std::vector<Value>& items() const;
  const Dict& as_dict() const;
  Object* as_object() const;
  std::shared_ptr<Object> share_object() const;

  int depth() const;             // 0 for scalars, else 1 + the deepest member
  bool holds_user_text() const;  // some string in it has a byte from the user; true where it is not known
  const void* identity() const { return rep_.get(); }

 private:
  Kind kind_ = Kind::none;
  union {
    int64_t integer = 0;
    double real;
  } number_;
  std::shared_ptr<Rep> rep_;
};

// Python's == and hash(). hash() throws TemplateFailure for an unhashable value (list, dict).
bool equals(const Value& a, const Value& b);
size_t hash(const Value& value);

// A mapping in insertion order; a key set twice keeps its first place, as in Python.
class Dict {
 public:
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  void set(Value key, Value value);
  void set(std::string_view key, Value value, Origin key_origin = Origin::user);
  const std::vector<std::pair<Value, Value>>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  void clear();

 private:
  size_t index_of(const Value& key, size_t hash) const;

  std::vector<std::pair<Value, Value>> entries_;
  std::unordered_multimap<size_t, size_t> index_by_hash_;
};

}  // namespace takt::text::jinja
