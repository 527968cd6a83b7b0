// `takt explain`: why a request took as long as it did, in words, from a running server.
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cstdio>

#include "app_options.h"
#include "commands.h"
#include "http_get.h"

namespace takt::apps {
namespace {

namespace json = boost::json;

struct ExplainOptions {
  std::string id, url = "http://127.0.0.1:8080", api_key;
  bool is_json = false;
};

std::string percent_encoded(const std::string& text) {
  std::string out;
  char code[4];
  for (const char c : text) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == ':' || c == '-';
    std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(c));
    out += is_plain ? std::string(1, c) : std::string(code);
  }
  return out;
}

double ms(const json::value& micros) { return micros.to_number<double>() / 1e3; }

void print_numbers(const char* title, const json::object& micros) {
  std::printf("%s", title);
  for (const auto& [name, value] : micros) std::printf("  %s %.1f ms", std::string(name).c_str(), ms(value));
  std::printf("\n");
}

void print(const json::object& request) {
  const auto string = [&](const char* key) {
    const json::value& value = request.at(key);
    return value.is_string() ? std::string(value.get_string()) : std::string("-");
  };
  std::printf("request %s (%s, %s): %s%s, prompt %lld tokens (%lld cached), output %lld; %.1f ms\n",
              string("id").c_str(), string("endpoint").c_str(), string("class").c_str(), string("state").c_str(),
              request.at("finish").is_null() ? "" : (" by " + string("finish")).c_str(),
              request.at("prompt_tokens").to_number<long long>(), request.at("cached_tokens").to_number<long long>(),
              request.at("output_tokens").to_number<long long>(), ms(request.at("end_to_end_us")));
  print_numbers("phases:", request.at("phases_us").as_object());
  for (const json::value& sentence : request.at("words").as_array())
    std::printf("%s\n", std::string(sentence.as_string()).c_str());
}

void explain(const ExplainOptions& options) {
  const auto answer = http_get(options.url, "/v1/takt/requests/" + percent_encoded(options.id), options.api_key);
  if (!answer) fail(answer.error());
  if (options.is_json && answer->status == 200) {
    std::printf("%s\n", answer->body.c_str());
    return;
  }
  try {
    const json::value document = json::parse(answer->body);
    if (answer->status != 200) fail(std::string(document.at("error").at("message").as_string()));
    print(document.as_object());
  } catch (const boost::system::system_error& error) {
    fail(options.url + ": the answer is not what a Takt server says (status " + std::to_string(answer->status) +
         "): " + error.what());
  }
}

}  // namespace

void add_explain_command(CLI::App& app) {
  auto* command = app.add_subcommand("explain", "Say where a request's time went, from a running server");
  auto options = std::make_shared<ExplainOptions>();
  command->add_option("ID", options->id, "its x-request-id, or the id of its reply")->required();
  add_option(*command, "--url", options->url, "the server");
  add_option(*command, "--api-key", options->api_key, "a key that the server knows, if it wants one");
  add_flag(*command, "--json", options->is_json, "everything that the server knows of it, as JSON");
  command->footer("Example:\n  takt explain chatcmpl-4f0c…");
  command->callback([options] { explain(*options); });
}

}  // namespace takt::apps
