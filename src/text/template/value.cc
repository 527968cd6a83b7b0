#include "text/template/value.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "text/template/limits.h"
#include "text/template/object.h"

namespace takt::text::jinja {
namespace {

constexpr size_t kRepOverheadBytes = 64;  // control block, vectors' headers

struct StringRep : Rep {
  StringRep(Text t, bool m) : text(std::move(t)), markup(m) {}
  ~StringRep() override { Budget::release(bytes(text)); }
  static size_t bytes(const Text& text) { return text.size() + text.flip_count() * sizeof(size_t) + kRepOverheadBytes; }
  const Text text;
  const bool markup;
};

struct ListRep : Rep {
  ListRep(std::vector<Value> i, int d, bool u) : items(std::move(i)), depth(d), user(u) {}
  ~ListRep() override { Budget::release(bytes(items)); }
  static size_t bytes(const std::vector<Value>& items) { return items.size() * sizeof(Value) + kRepOverheadBytes; }
  const std::vector<Value> items;
  const int depth;
  const bool user;
  bool is_group = false;
};

struct DictRep : Rep {
  DictRep(Dict d, int n, bool u) : dict(std::move(d)), depth(n), user(u) {}
  ~DictRep() override { Budget::release(bytes(dict)); }
  static size_t bytes(const Dict& dict) { return dict.size() * (2 * sizeof(Value) + 48) + kRepOverheadBytes; }
  const Dict dict;
  const int depth;
  const bool user;
};

int checked_depth(int deepest_member) {
  if (deepest_member >= kValueDepthMax) {
    fail("values are nested deeper than " + std::to_string(kValueDepthMax) + " levels");
  }
  return deepest_member + 1;
}

int depth_of(const std::vector<Value>& items) {
  int deepest = 0;
  for (const Value& item : items) deepest = std::max(deepest, item.depth());
  return checked_depth(deepest);
}

}  // namespace

Value Value::missing() {
  Value v;
  v.kind_ = Kind::missing;
  return v;
}

Value Value::boolean(bool value) {
  Value v;
  v.kind_ = Kind::boolean;
  v.number_.integer = value ? 1 : 0;
  return v;
}

Value Value::integer(int64_t value) {
  Value v;
  v.kind_ = Kind::integer;
  v.number_.integer = value;
  return v;
}

Value Value::real(double value) {
  Value v;
  v.kind_ = Kind::real;
  v.number_.real = value;
  return v;
}

Value Value::string(std::string utf8, Origin origin) { return text(Text(std::move(utf8), origin)); }

Value Value::text(Text text, bool markup) {
  Budget::charge(StringRep::bytes(text));
  Value v;
  v.kind_ = Kind::string;
  v.rep_ = std::make_shared<StringRep>(std::move(text), markup);
  return v;
}

Value Value::list(std::vector<Value> items) {
  const int depth = depth_of(items);
  Budget::charge(ListRep::bytes(items));
  Value v;
  v.kind_ = Kind::list;
  const bool user = std::any_of(items.begin(), items.end(), [](const Value& item) { return item.holds_user_text(); });
  v.rep_ = std::make_shared<ListRep>(std::move(items), depth, user);
  return v;
}

Value Value::tuple(std::vector<Value> items) {
  Value v = list(std::move(items));
  v.kind_ = Kind::tuple;
  return v;
}

Value Value::group(Value key, Value members) {
  Value v = tuple({std::move(key), std::move(members)});
  static_cast<ListRep&>(*v.rep_).is_group = true;
  return v;
}

bool Value::is_group() const { return is_tuple() && static_cast<const ListRep&>(*rep_).is_group; }

Value Value::dict(Dict entries) {
  int deepest = 0;
  bool user = false;
  for (const auto& [key, value] : entries.entries()) {
    deepest = std::max({deepest, key.depth(), value.depth()});
    user = user || key.holds_user_text() || value.holds_user_text();
  }
  const int depth = checked_depth(deepest);
  Budget::charge(DictRep::bytes(entries));
  Value v;
  v.kind_ = Kind::dict;
  v.rep_ = std::make_shared<DictRep>(std::move(entries), depth, user);
  return v;
}

Value Value::object(std::shared_ptr<Object> object) {
  Value v;
  v.kind_ = Kind::object;
  v.rep_ = std::move(object);
  return v;
}

bool Value::is_undefined() const { return is_object() && as_object()->type() == ObjectType::undefined; }
const Text& Value::as_text() const { return static_cast<const StringRep&>(*rep_).text; }
bool Value::is_markup() const { return is_string() && static_cast<const StringRep&>(*rep_).markup; }
const std::vector<Value>& Value::items() const { return static_cast<const ListRep&>(*rep_).items; }
const Dict& Value::as_dict() const { return static_cast<const DictRep&>(*rep_).dict; }
Object* Value::as_object() const { return static_cast<Object*>(rep_.get()); }
std::shared_ptr<Object> Value::share_object() const { return std::static_pointer_cast<Object>(rep_); }

int Value::depth() const {
  switch (kind_) {
    case Kind::list:
    case Kind::tuple: return static_cast<const ListRep&>(*rep_).depth;
    case Kind::dict: return static_cast<const DictRep&>(*rep_).depth;
    case Kind::object: return as_object()->depth();
    default: return 0;
  }
}

bool Value::holds_user_text() const {
  switch (kind_) {
    case Kind::string: return as_text().any_from_user();
    case Kind::list:
    case Kind::tuple: return static_cast<const ListRep&>(*rep_).user;
    case Kind::dict: return static_cast<const DictRep&>(*rep_).user;
    case Kind::object: return !is_undefined() && as_object()->type() != ObjectType::range;
    default: return false;
  }
}

Object::Object(ObjectType type, int depth) : type_(type), depth_(depth) {
  if (depth > kValueDepthMax) fail("values are nested deeper than " + std::to_string(kValueDepthMax) + " levels");
  Budget::charge(2 * kRepOverheadBytes);
}
Object::~Object() { Budget::release(2 * kRepOverheadBytes); }

const Value* Dict::find(std::string_view key) const {
  if (entries_.size() <= 8) {
    for (const auto& [k, v] : entries_) {
      if (k.is_string() && k.as_text().view() == key) return &v;
    }
    return nullptr;
  }
  const auto [begin, end] = index_by_hash_.equal_range(std::hash<std::string_view>()(key));
  for (auto it = begin; it != end; ++it) {
    const auto& [k, v] = entries_[it->second];
    if (k.is_string() && k.as_text().view() == key) return &v;
  }
  return nullptr;
}

size_t Dict::index_of(const Value& key, size_t key_hash) const {
  const auto [begin, end] = index_by_hash_.equal_range(key_hash);
  for (auto it = begin; it != end; ++it) {
    if (equals(entries_[it->second].first, key)) return it->second;
  }
  return entries_.size();
}

const Value* Dict::find(const Value& key) const {
  const size_t index = index_of(key, hash(key));
  return index < entries_.size() ? &entries_[index].second : nullptr;
}

void Dict::set(Value key, Value value) {
  const size_t key_hash = hash(key);
  const size_t index = index_of(key, key_hash);
  if (index < entries_.size()) {
    entries_[index].second = std::move(value);
    return;
  }
  index_by_hash_.emplace(key_hash, entries_.size());
  entries_.emplace_back(std::move(key), std::move(value));
}

void Dict::set(std::string_view key, Value value, Origin key_origin) {
  set(Value::string(std::string(key), key_origin), std::move(value));
}

void Dict::clear() {
  entries_.clear();
  index_by_hash_.clear();
}

}  // namespace takt::text::jinja
