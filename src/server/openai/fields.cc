#include "server/openai/fields.h"

#include <boost/json/parser.hpp>
#include <cmath>

#include "server/http/json_writer.h"

namespace takt::server {

namespace json = boost::json;

namespace {

ApiError bad_json(std::string message) {
  ApiError error;
  error.message = std::move(message);
  error.code = "invalid_json";
  return error;
}

std::string in_words(double value) {
  JsonWriter writer;
  return writer.number(value).take();
}

}  // namespace

json::value parse_json_object(std::string_view body, std::optional<ApiError>& error) {
  json::parse_options options;
  options.max_depth = kJsonDepthMax;
  json::parser parser({}, options);
  json::error_code code;
  const size_t used = parser.write_some(body.data(), body.size(), code);
  if (!code && body.find_first_not_of(" \t\r\n", used) != std::string_view::npos) code = json::error::extra_data;
  if (code == json::error::too_deep) {
    error = bad_json("the request body is nested deeper than " + std::to_string(kJsonDepthMax) + " levels");
  } else if (code) {
    error = bad_json("the request body is not valid JSON: " + code.message() + " at byte " + std::to_string(used));
  }
  if (error) return nullptr;
  json::value value = parser.release();
  if (!value.is_object()) {
    error = bad_json("the request body must be a JSON object");
    return nullptr;
  }
  return value;
}

std::optional<int64_t> as_integer(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  // Exactly representable bounds: every whole double in between fits.
  if (value.is_double() && std::trunc(value.get_double()) == value.get_double() &&
      std::fabs(value.get_double()) < 0x1p63) {
    return static_cast<int64_t>(value.get_double());
  }
  return std::nullopt;
}

const json::value* FieldReader::find(std::string_view name) const {
  const json::value* value = object_.if_contains(json::string_view(name.data(), name.size()));
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::string FieldReader::path(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

void FieldReader::fail(std::string_view name, std::string message) {
  if (!error_) error_ = bad_field(path(name), std::move(message));
}

void FieldReader::fail_with(ApiError error) {
  if (!error_) error_ = std::move(error);
}

std::optional<bool> FieldReader::boolean(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_bool()) return value->get_bool();
  fail(name, "must be true or false");
  return std::nullopt;
}

std::optional<std::string_view> FieldReader::string(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return std::string_view(value->get_string().data(), value->get_string().size());
  fail(name, "must be a string");
  return std::nullopt;
}

std::optional<int64_t> FieldReader::integer(std::string_view name, int64_t min, int64_t max) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  const std::optional<int64_t> integer = as_integer(*value);
  if (integer && *integer >= min && *integer <= max) return integer;
  fail(name, "must be an integer from " + std::to_string(min) + " to " + std::to_string(max));
  return std::nullopt;
}

std::optional<double> FieldReader::number(std::string_view name, double min, double max) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) {
    const double number = value->to_number<double>();
    if (number >= min && number <= max) return number;  // false for not-a-number
  }
  fail(name, "must be a number from " + in_words(min) + " to " + in_words(max));
  return std::nullopt;
}

const json::array* FieldReader::array(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) fail(name, "must be a list");
  return value->if_array();
}

const json::object* FieldReader::object(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return nullptr;
  if (!value->is_object()) fail(name, "must be an object");
  return value->if_object();
}

}  // namespace takt::server
