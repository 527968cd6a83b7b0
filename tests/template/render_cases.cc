// Renders templates for the Python scripts beside this file. Each line of standard input is a JSON object
// {"template": source, "variables": {…}}; each line of output is {"text": …, "user": [bytes, …]} (the second the lengths of
// the segments, alternating, template text first) or {"error": message}.
#include <boost/json.hpp>
#include <iostream>
#include <string>

#include "text/template/chat_template.h"
#include "text/template/value_json.h"

namespace {

using namespace takt;

boost::json::object failure(const base::Error& error) { return {{"error", error.message}}; }

using Parsed = base::Result<std::shared_ptr<const text::ChatTemplate>>;

// The last template is kept: the scripts render one many times.
const Parsed& parse(const std::string& source) {
  static std::string last_source;
  static Parsed last = text::ChatTemplate::parse("");
  if (source != last_source) {
    last = text::ChatTemplate::parse(source);
    last_source = source;
  }
  return last;
}

boost::json::object render(const boost::json::object& request) {
  const Parsed& parsed = parse(std::string(request.at("template").as_string()));
  if (!parsed) return failure(parsed.error());
  text::TemplateInputs inputs;
  inputs.now.tm_year = 124, inputs.now.tm_mon = 6, inputs.now.tm_mday = 26, inputs.now.tm_wday = 5,
  inputs.now.tm_yday = 207;
  inputs.now.tm_hour = 9, inputs.now.tm_min = 5, inputs.now.tm_sec = 3;
  const auto variables = text::to_template_value(request.at("variables"));
  if (!variables) return failure(variables.error());
  inputs.extra = variables->as_dict();
  const auto rendered = (*parsed)->render(inputs);
  if (!rendered) return failure(rendered.error());
  boost::json::array lengths;
  bool user = false;
  for (const text::RenderedSegment& segment : rendered->segments) {
    if (segment.from_user != user) lengths.push_back(0);
    lengths.push_back(segment.text.size());
    user = !segment.from_user;
  }
  return {{"text", rendered->text()}, {"user", lengths}};
}

}  // namespace

int main() {
  boost::json::parse_options options;
  options.max_depth = 200;
  for (std::string line; std::getline(std::cin, line);) {
    boost::json::object result;
    try {
      result = render(boost::json::parse(line, {}, options).as_object());
    } catch (const std::exception& error) {
      result = {{"error", std::string("bad case: ") + error.what()}};
    }
    std::cout << boost::json::serialize(result) << std::endl;
  }
}
