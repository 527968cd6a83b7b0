// Python's datetime.strftime in the C locale, without a time zone.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

namespace takt::text::jinja {

// An unknown directive stays as it is. %f is 000000, %z and %Z are empty.
std::string format_time(std::string_view format, const std::tm& time);

}  // namespace takt::text::jinja
