// takt tokenize and takt detokenize: text to token ids and back, for a model or a vocabulary-only file.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "app_options.h"
#include "commands.h"
#include "gguf/file.h"
#include "model_path.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"
#include "text/utf8.h"
#include "text/vocabulary_reader.h"

namespace takt::apps {
namespace {

using text::TokenId;

struct Options {
  std::string model;
  bool no_special = false;
  bool no_bos = false;
  bool is_json = false;
};

std::string read_stdin() {
  std::string input{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  if (input.size() >= text::kEncodeBytesMax) fail("the input has 2 GiB or more");
  return input;
}

std::shared_ptr<const text::Vocabulary> load_vocabulary(const std::string& model) {
  const auto file = gguf::File::open(resolve_model(model));
  if (!file) fail(file.error());
  auto data = text::read_vocabulary(**file);
  if (!data) fail(data.error());
  auto vocabulary = text::Vocabulary::create(std::move(*data));
  if (!vocabulary) fail(vocabulary.error());
  return std::move(*vocabulary);
}

// A piece on one line: what is not printable, not UTF-8 or a backslash as an escape.
std::string escape(std::string_view piece) {
  std::string out;
  while (!piece.empty()) {
    const auto byte = static_cast<unsigned char>(piece[0]);
    const auto step = text::next_utf8(piece);
    if (step.kind != text::Utf8Step::Kind::valid || byte < 0x20 || byte == 0x7F) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\x%02X", byte);
      out += byte == '\n' ? "\\n" : byte == '\t' ? "\\t" : byte == '\r' ? "\\r" : buffer;
      piece.remove_prefix(1);
      continue;
    }
    if (byte == '\\') out += '\\';
    out.append(piece.substr(0, step.size));
    piece.remove_prefix(step.size);
  }
  return out;
}

void print(const text::Vocabulary& vocabulary, std::span<const TokenId> ids, bool is_json) {
  std::string out = is_json ? "[" : "";
  for (size_t i = 0; i < ids.size(); ++i) {
    if (is_json) {
      out += (i == 0 ? "" : ",") + std::to_string(ids[i]);
    } else {
      out += std::to_string(ids[i]) + "\t" + escape(vocabulary.piece(ids[i])) + "\n";
    }
  }
  if (is_json) out += "]\n";
  std::fwrite(out.data(), 1, out.size(), stdout);
}

void run_tokenize(const Options& options) {
  const auto tokenizer = text::Tokenizer::create(load_vocabulary(options.model));
  if (!tokenizer) fail(tokenizer.error());
  const std::string input = read_stdin();
  print(*(*tokenizer)->vocabulary(), (*tokenizer)->encode(input, !options.no_special, !options.no_bos),
        options.is_json);
}

std::vector<TokenId> parse_json_ids(const std::string& input) {
  boost::system::error_code error;
  const auto value = boost::json::parse(input, error);
  if (error) fail("the input is not a JSON list of token ids: " + error.message());
  const auto ids = boost::json::try_value_to<std::vector<TokenId>>(value);
  if (!ids) fail("the input is not a JSON list of token ids");
  return *ids;
}

std::vector<TokenId> parse_ids(const std::string& input) {
  const size_t start = input.find_first_not_of(" \t\r\n");
  if (start != std::string::npos && input[start] == '[') return parse_json_ids(input);
  std::istringstream words(input);
  std::vector<TokenId> ids;
  for (std::string word; words >> word;) {
    std::istringstream number(word);
    TokenId id = 0;
    if (!(number >> id) || !number.eof()) fail("\"" + word + "\" is not a token id");
    ids.push_back(id);
  }
  return ids;
}

// The inverse of tokenize: a BOS that it adds is left out again.
void run_detokenize(const Options& options) {
  const auto vocabulary = load_vocabulary(options.model);
  const std::vector<TokenId> ids = parse_ids(read_stdin());
  for (const TokenId id : ids) {
    if (vocabulary->contains(id)) continue;
    fail("token " + std::to_string(id) + " is outside the vocabulary of " + std::to_string(vocabulary->token_count()) +
         " tokens");
  }
  std::span<const TokenId> shown = ids;
  if (!shown.empty() && vocabulary->add_bos() && shown[0] == vocabulary->bos()) shown = shown.subspan(1);
  const std::string bytes =
      text::decode_bytes(vocabulary, shown, {.strip_space_prefix = true, .show_special = !options.no_special});
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
}

}  // namespace

void add_tokenize_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("tokenize", "Print the tokens of the text on standard input, exactly its bytes");
  command->add_option("MODEL", options->model, "A model's name, or a GGUF file (vocabulary-only files too)")
      ->required();
  add_flag(*command, "--no-special", options->no_special, "The spelling of a control token is ordinary text");
  add_flag(*command, "--no-bos", options->no_bos, "No BOS in front, even if the model asks for it");
  add_flag(*command, "--json", options->is_json, "A JSON list of ids instead of one line a token");
  command->footer(
      "Examples:\n"
      "  printf 'Hello world' | takt tokenize smollm2-135m\n"
      "  takt tokenize vocabulary.gguf --no-special --no-bos --json < text.txt");
  command->callback([options] { run_tokenize(*options); });
}

void add_detokenize_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "detokenize", "Print the text of the token ids on standard input (JSON list, or separated by white space)");
  command->add_option("MODEL", options->model, "A model's name, or a GGUF file (vocabulary-only files too)")
      ->required();
  add_flag(*command, "--no-special", options->no_special, "Leave control tokens out instead of printing their names");
  command->footer(
      "Examples:\n"
      "  echo '[19556, 905]' | takt detokenize smollm2-135m\n"
      "  printf 'Hello world' | takt tokenize smollm2-135m --json | takt detokenize smollm2-135m");
  command->callback([options] { run_detokenize(*options); });
}

}  // namespace takt::apps
