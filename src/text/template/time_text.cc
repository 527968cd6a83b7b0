#include "text/template/time_text.h"

#include "text/template/limits.h"

namespace takt::text::jinja {
namespace {

constexpr std::string_view kDirectives = "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyY%";

}  // namespace

std::string format_time(std::string_view format, const std::tm& time) {
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 >= format.size()) {
      out.push_back(format[i]);
      continue;
    }
    std::string directive = "%";
    size_t at = i + 1;
    if (std::string_view("-_0^#").find(format[at]) != std::string_view::npos && at + 1 < format.size()) {
      directive.push_back(format[at++]);  // glibc's padding and case flags, which Python passes through
    }
    const char letter = format[at];
    if (letter == 'f') {
      out += "000000";
    } else if (letter == 'z' || letter == 'Z') {
      // A naive datetime has no zone.
    } else if (kDirectives.find(letter) != std::string_view::npos) {
      directive.push_back(letter);
      char buffer[128];
      out.append(buffer, std::strftime(buffer, sizeof buffer, directive.c_str(), &time));
    } else {
      out.append(format.substr(i, at - i + 1));
    }
    i = at;
    Budget::step();
    Budget::require(out.size());
  }
  return out;
}

}  // namespace takt::text::jinja
