// takt template: what a model's chat template makes of a conversation.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "app_options.h"
#include "commands.h"
#include "gguf/file.h"
#include "model_path.h"
#include "text/template/chat_template.h"
#include "text/template/value_json.h"
#include "text/vocabulary.h"
#include "text/vocabulary_reader.h"

namespace takt::apps {

namespace {

constexpr std::uintmax_t kInputBytesMax = std::uintmax_t{256} << 20;

struct Options {
  std::string model, messages_path, tools_path, bos_token, eos_token, kwargs;
  bool has_bos = false, has_eos = false;
  bool add_generation_prompt = false;
};

struct Source {
  std::string text, bos_token, eos_token;
};

std::string read_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) fail(path + ": no such file");
  if (std::filesystem::file_size(path, error) > kInputBytesMax) fail(path + ": larger than 256 MiB");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

Source read_source(const std::string& model) {
  const std::string path = resolve_model(model);
  if (!std::string_view(path).ends_with(".gguf")) return {read_file(path), "", ""};
  const auto file = gguf::File::open(path);
  if (!file) fail(file.error());
  const gguf::Value* const value = (*file)->find("tokenizer.chat_template");
  if (value == nullptr || value->type != gguf::ValueType::string) fail(path + ": the model has no chat template");
  auto data = text::read_vocabulary(**file);
  if (!data) fail(data.error());
  const auto vocabulary = text::Vocabulary::create(std::move(*data));
  if (!vocabulary) fail(vocabulary.error());
  return {std::string(value->text()), std::string((*vocabulary)->bos_text()), std::string((*vocabulary)->eos_text())};
}

text::TemplateValue parse(const std::string& json, const std::string& what) {
  auto value = text::parse_template_value(json);
  if (!value) fail(what + ": " + value.error().message);
  return std::move(*value);
}

// A list of messages, or an object with "messages" and any other variables.
void read_messages(const std::string& path, text::TemplateInputs& inputs) {
  const text::TemplateValue value = parse(read_file(path), path);
  if (value.is_list()) {
    inputs.messages = value;
    return;
  }
  if (!value.is_dict() || value.as_dict().find("messages") == nullptr) {
    fail(path + ": expected a list of messages, or an object with \"messages\"");
  }
  inputs.extra = value.as_dict();
}

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm time = {};
  localtime_r(&now, &time);
  return time;
}

void run(const Options& options) {
  Source source = read_source(options.model);
  if (options.has_bos) source.bos_token = options.bos_token;
  if (options.has_eos) source.eos_token = options.eos_token;
  const auto parsed = text::ChatTemplate::parse(std::move(source.text));
  if (!parsed) fail(parsed.error());

  text::TemplateInputs inputs;
  inputs.bos_token = source.bos_token;
  inputs.eos_token = source.eos_token;
  inputs.now = local_time();
  read_messages(options.messages_path, inputs);
  if (!options.tools_path.empty()) {
    inputs.extra.set("tools", parse(read_file(options.tools_path), options.tools_path));
  }
  if (options.add_generation_prompt) {
    inputs.extra.set("add_generation_prompt", text::TemplateValue::boolean(true));
  }
  if (!options.kwargs.empty()) {
    const text::TemplateValue more = parse(options.kwargs, "--kwargs");
    if (!more.is_dict()) fail("--kwargs: expected a JSON object");
    for (const auto& [name, value] : more.as_dict().entries()) inputs.extra.set(name, value);
  }
  const auto rendered = (*parsed)->render(inputs);
  if (!rendered) fail(rendered.error());
  const std::string text = rendered->text();
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

void add_template_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("template", "Print what a chat template makes of a conversation, exactly");
  command
      ->add_option("MODEL_OR_JINJA_FILE", options->model,
                   "A model's name, a GGUF file, or a file with a Jinja template")
      ->required();
  add_option(*command, "--messages", options->messages_path,
             "JSON file: a list of messages, or an object with \"messages\", \"tools\" and other variables")
      ->required();
  add_option(*command, "--tools", options->tools_path, "JSON file: a list of tools");
  add_flag(*command, "--add-generation-prompt", options->add_generation_prompt,
           "End with the beginning of the assistant's turn");
  CLI::Option* bos =
      add_option(*command, "--bos-token", options->bos_token, "Text of bos_token (default: the model's)");
  CLI::Option* eos =
      add_option(*command, "--eos-token", options->eos_token, "Text of eos_token (default: the model's)");
  add_option(*command, "--kwargs", options->kwargs,
             "JSON object of further variables, e.g. '{\"enable_thinking\": false}'");
  command->footer(
      "Examples:\n"
      "  echo '[{\"role\": \"user\", \"content\": \"Hi\"}]' > m.json\n"
      "  takt template smollm2-135m --messages m.json --add-generation-prompt\n"
      "  takt template chat.jinja --messages m.json --bos-token '<s>' --kwargs '{\"enable_thinking\": false}'");
  command->callback([options, bos, eos] {
    options->has_bos = bos->count() > 0;
    options->has_eos = eos->count() > 0;
    run(*options);
  });
}

}  // namespace takt::apps
