// Reads typed fields of a JSON request. null counts as absent; the first field of a wrong type or out of its range becomes the error.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/openai/api_error.h"

namespace takt::server {

// Containers within containers that a request may have.
inline constexpr size_t kJsonDepthMax = 64;

// Parses a request body, which must be one JSON object of at most kJsonDepthMax levels in valid UTF-8. On failure `error` is set
// and the result is null.
boost::json::value parse_json_object(std::string_view body, std::optional<ApiError>& error);

class FieldReader {
 public:
  // `object` and `error` must outlive the reader. `path` names the object within the request ("" for the request itself).
  FieldReader(const boost::json::object& object, std::optional<ApiError>& error, std::string path = "")
      : object_(object), error_(error), path_(std::move(path)) {}

  const boost::json::value* find(std::string_view name) const;  // nullptr when absent or null
  std::optional<bool> boolean(std::string_view name);
  std::optional<std::string_view> string(std::string_view name);
  // Limits are inclusive. A number such as 10.0 counts as an integer.
  std::optional<int64_t> integer(std::string_view name, int64_t min, int64_t max);
  std::optional<double> number(std::string_view name, double min, double max);
  const boost::json::array* array(std::string_view name);
  const boost::json::object* object(std::string_view name);

  std::string path(std::string_view name) const;
  // Records an error unless there is one already.
  void fail(std::string_view name, std::string message);
  void fail_with(ApiError error);  // the same, with an error that names a field further down
  bool has_failed() const { return error_.has_value(); }

 private:
  const boost::json::object& object_;
  std::optional<ApiError>& error_;
  std::string path_;
};

// The value as an integer, when it is one and fits.
std::optional<int64_t> as_integer(const boost::json::value& value);

}  // namespace takt::server
