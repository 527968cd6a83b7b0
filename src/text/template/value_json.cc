#include "text/template/value_json.h"

#include <boost/json.hpp>
#include <new>

#include "text/template/limits.h"

namespace takt::text {
namespace {

using jinja::Dict;
using jinja::Value;

Value convert(const boost::json::value& json, int depth) {
  if (depth > jinja::kValueDepthMax) {
    jinja::fail("JSON is nested deeper than " + std::to_string(jinja::kValueDepthMax) + " levels");
  }
  switch (json.kind()) {
    case boost::json::kind::null: return {};
    case boost::json::kind::bool_: return Value::boolean(json.get_bool());
    case boost::json::kind::int64: return Value::integer(json.get_int64());
    case boost::json::kind::uint64:
      if (json.get_uint64() > static_cast<uint64_t>(INT64_MAX)) {
        jinja::fail("the integer " + std::to_string(json.get_uint64()) + " does not fit 64 signed bits");
      }
      return Value::integer(static_cast<int64_t>(json.get_uint64()));
    case boost::json::kind::double_: return Value::real(json.get_double());
    case boost::json::kind::string: return Value::string(std::string(std::string_view(json.get_string())));
    case boost::json::kind::array: {
      std::vector<Value> items;
      for (const boost::json::value& item : json.get_array()) items.push_back(convert(item, depth + 1));
      return Value::list(std::move(items));
    }
    case boost::json::kind::object: {
      Dict dict;
      for (const auto& member : json.get_object()) {
        dict.set(std::string_view(member.key()), convert(member.value(), depth + 1));
      }
      return Value::dict(std::move(dict));
    }
  }
  return {};
}

}  // namespace

base::Result<jinja::Value> to_template_value(const boost::json::value& json) {
  try {
    return convert(json, 1);
  } catch (const jinja::TemplateFailure& failure) {
    return base::Error{base::ErrorCode::invalid_argument, failure.message};
  } catch (const std::bad_alloc&) {
    return base::Error{base::ErrorCode::out_of_memory, "no memory left for the request's values"};
  }
}

base::Result<jinja::Value> parse_template_value(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = static_cast<size_t>(jinja::kValueDepthMax);
#if BOOST_VERSION >= 108300
  options.numbers = boost::json::number_precision::precise;
#endif
  boost::system::error_code error;
  try {
    const boost::json::value json =
        boost::json::parse(boost::json::string_view(text.data(), text.size()), error, {}, options);
    if (error) return base::Error{base::ErrorCode::invalid_argument, "this is not valid JSON: " + error.message()};
    return to_template_value(json);
  } catch (const std::bad_alloc&) {
    return base::Error{base::ErrorCode::out_of_memory, "no memory left for the request's values"};
  }
}

}  // namespace takt::text
