// `takt score`: the model's log-probabilities at every position of a given token sequence.
#include <boost/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <future>
#include <sstream>

#include "app_options.h"
#include "commands.h"
#include "session.h"

namespace takt::apps {
namespace {

struct ScoreOptions {
  SessionOptions session;
  std::string tokens_path;
  uint32_t top = 10;
  uint32_t greedy = 0;
  std::string mode = "prefill";
};

// Prints lines as positions come in. In decode mode position i is the distribution from which output token i was taken, since the
// prompt is the first token alone.
class ScoreSink : public contract::OutputSink {
 public:
  ScoreSink(size_t token_count, bool is_decode) : token_count_(token_count), is_decode_(is_decode) {}

  void on_output(const contract::RequestOutput& output, const contract::RequestTimes&) override {
    for (const contract::TokenOutput& position : output.prompt_positions)
      if (!is_decode_) print(position, position.id >= 0);
    for (const contract::TokenOutput& token : output.tokens) {
      if (is_decode_ && position_ < token_count_) print(token, position_ + 1 < token_count_);
      if (++output_count_ >= (is_decode_ ? token_count_ : 1)) greedy_.push_back(token.id);
    }
    if (output.finish != contract::FinishReason::none) done_.set_value(output.error);
  }

  // The error text of the request; empty when all went well.
  std::string wait() { return done_.get_future().get(); }
  const std::vector<contract::TokenId>& greedy() const { return greedy_; }

 private:
  void print(const contract::TokenOutput& token, bool has_next) {
    std::printf("{\"pos\":%zu,\"top\":[", position_++);
    for (size_t i = 0; i < token.top.size(); ++i)
      std::printf("%s[%d,%.7g]", i == 0 ? "" : ",", token.top[i].id, static_cast<double>(token.top[i].logprob));
    if (has_next)
      std::printf("],\"next\":%.7g}\n", static_cast<double>(token.logprob));
    else
      std::printf("],\"next\":null}\n");
  }

  size_t token_count_;
  bool is_decode_;
  size_t position_ = 0;
  size_t output_count_ = 0;
  std::vector<contract::TokenId> greedy_;
  std::promise<std::string> done_;
};

// A JSON list of ids, or an object with the list under "ids" or "tokens".
std::vector<contract::TokenId> read_tokens(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail("--tokens " + path + ": cannot be read");
  std::stringstream text;
  text << stream.rdbuf();
  boost::system::error_code error;
  boost::json::value json = boost::json::parse(text.str(), error);
  if (error) fail("--tokens " + path + ": not JSON: " + error.message());
  if (const auto* object = json.if_object()) {
    const auto* list = object->if_contains("ids");
    if (list == nullptr) list = object->if_contains("tokens");
    if (list == nullptr) fail("--tokens " + path + ": the object has neither \"ids\" nor \"tokens\"");
    json = boost::json::value(*list);
  }
  const auto* list = json.if_array();
  if (list == nullptr || list->empty()) fail("--tokens " + path + ": expected a list of token ids that is not empty");
  std::vector<contract::TokenId> tokens;
  for (const auto& item : *list) {
    const int64_t* id = item.if_int64();
    if (id == nullptr || *id < 0 || *id > INT32_MAX)
      fail("--tokens " + path + ": entry " + std::to_string(tokens.size()) + " is not a token id");
    tokens.push_back(static_cast<contract::TokenId>(*id));
  }
  return tokens;
}

void score(const ScoreOptions& options) {
  const std::vector<contract::TokenId> tokens = read_tokens(options.tokens_path);
  SessionOptions session_options = options.session;
  const size_t needed = tokens.size() + std::max(1u, options.greedy);
  if (session_options.context_tokens == 0)
    session_options.context_tokens = static_cast<uint32_t>(std::min<size_t>(needed, kContextTokensMax));
  if (needed > session_options.context_tokens)
    fail(std::to_string(tokens.size()) + " tokens and " + std::to_string(options.greedy) +
         " greedy ones do not fit a context of " + std::to_string(session_options.context_tokens) + " (--ctx)");
  Session session(session_options);
  const bool is_decode = options.mode == "decode";
  contract::Submission submission;
  submission.generation.sampling.temperature = 0;
  if (is_decode) {
    submission.request.prompt = std::make_shared<std::vector<contract::TokenId>>(1, tokens[0]);
    submission.generation.forced_tokens.assign(tokens.begin() + 1, tokens.end());
    submission.generation.top_logprobs = options.top;
    submission.request.output_tokens_max =
        base::Tokens(static_cast<int64_t>(tokens.size() - 1 + std::max(1u, options.greedy)));
  } else {
    submission.request.prompt = std::make_shared<std::vector<contract::TokenId>>(tokens);
    submission.generation.prompt_top_logprobs = options.top;
    submission.request.output_tokens_max = base::Tokens(options.greedy);
  }
  auto sink = std::make_shared<ScoreSink>(tokens.size(), is_decode);
  submission.sink = sink;
  if (auto id = session.world().submit(std::move(submission)); !id) fail(id.error());
  if (const std::string error = sink->wait(); !error.empty()) fail(error);
  std::printf("{\"greedy\":[");
  for (size_t i = 0; i < std::min<size_t>(options.greedy, sink->greedy().size()); ++i)
    std::printf("%s%d", i == 0 ? "" : ",", sink->greedy()[i]);
  std::printf("]}\n");
}

}  // namespace

void add_score_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "score", "Print the log-probabilities of a token sequence, position by position, as JSON lines");
  auto options = std::make_shared<ScoreOptions>();
  add_session_options(*command, options->session);
  add_option(*command, "--tokens", options->tokens_path, "JSON file: a list of token ids, or an object with \"ids\"")
      ->required();
  add_option(*command, "--top", options->top, "how many of the most probable ids to print per position")
      ->check(CLI::Range(0, 1 << 20));
  add_option(*command, "--greedy", options->greedy, "how many tokens to go on greedily; an end token does not stop it");
  add_option(*command, "--mode", options->mode,
             "prefill: the sequence as a prompt; decode: every token in a step of its own")
      ->check(CLI::IsMember({"prefill", "decode"}));
  command->footer("Example:\n  takt score model.gguf --tokens ids.json --top 5 --greedy 16");
  command->callback([options] { score(*options); });
}

}  // namespace takt::apps
