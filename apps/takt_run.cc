// `takt run` and `takt chat`: one answer, and a conversation, on a terminal.
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <iostream>

#include "app_options.h"
#include "commands.h"
#include "generation.h"
#include "session.h"
#include "text_model.h"

namespace takt::apps {
namespace {

constexpr int kInterruptedExit = 130;  // 128 + SIGINT, as shells have it

struct RunOptions {
  SessionOptions session;
  SamplingOptions sampling;
  std::string prompt, system;
  bool is_raw = false;
  bool is_quiet = false;
};

boost::json::object message(const char* role, const std::string& content) {
  return {{"role", role}, {"content", content}};
}

std::vector<contract::TokenId> encode_chat(const TextModel& text, const boost::json::array& messages) {
  auto tokens = text.services.encode_chat({{"messages", messages}, {"add_generation_prompt", true}});
  if (!tokens) fail(tokens.error());
  return std::move(tokens).value();
}

void run(const RunOptions& options) {
  Session session(options.session);
  const TextModel text = load_text_model(session);
  std::vector<contract::TokenId> prompt;
  if (!options.is_raw && !text.template_error.empty()) fail(text.template_error + " (--raw goes on without it)");
  if (options.is_raw || text.chat_template == nullptr) {
    if (!options.system.empty()) fail("--system needs a model with a chat template, and no --raw");
    auto tokens = text.services.encode(options.prompt, true, false);
    if (!tokens) fail(tokens.error());
    prompt = std::move(tokens).value();
  } else {
    boost::json::array messages;
    if (!options.system.empty()) messages.push_back(message("system", options.system));
    messages.push_back(message("user", options.prompt));
    prompt = encode_chat(text, messages);
  }
  if (prompt.empty()) fail("the prompt is empty");
  const AnswerTimes times = stream_answer(session, text.services, std::move(prompt), options.sampling);
  if (times.finish == contract::FinishReason::error) fail(times.error);
  std::printf("\n");
  std::fflush(stdout);
  if (!options.is_quiet) print_times(session, times, false);
  if (was_interrupted()) throw CLI::RuntimeError(kInterruptedExit);
}

void chat(const RunOptions& options) {
  Session session(options.session);
  const TextModel text = load_text_model(session);
  if (text.chat_template == nullptr)
    fail(text.template_error.empty() ? "this model has no chat template; use `takt run --raw` for plain completion"
                                     : text.template_error);
  boost::json::array messages;
  if (!options.system.empty()) messages.push_back(message("system", options.system));
  const bool is_terminal = isatty(STDIN_FILENO) != 0;
  if (is_terminal)
    std::fprintf(stderr, "%s, loaded in %.2f s. Ctrl-C stops an answer, Ctrl-D ends.\n",
                 session.model().shape.name.c_str(), session.load_seconds());
  for (std::string line;;) {
    if (is_terminal) std::fprintf(stderr, "> ");
    if (!std::getline(std::cin, line)) return;
    if (line.empty()) continue;
    messages.push_back(message("user", line));
    const AnswerTimes times = stream_answer(session, text.services, encode_chat(text, messages), options.sampling);
    if (times.finish == contract::FinishReason::error) fail(times.error);
    std::printf("\n");
    std::fflush(stdout);
    messages.push_back(message("assistant", times.text));
    if (!options.is_quiet) print_times(session, times, true);
  }
}

std::shared_ptr<RunOptions> add_shared_options(CLI::App& command) {
  auto options = std::make_shared<RunOptions>();
  add_session_options(command, options->session);
  add_sampling_options(command, options->sampling);
  add_option(command, "--system,-s", options->system, "system message");
  add_flag(command, "--quiet,-q", options->is_quiet, "no timing block");
  return options;
}

}  // namespace

void add_run_command(CLI::App& app) {
  auto* command = app.add_subcommand("run", "Answer one prompt and show what load, prefill and decode took");
  auto options = add_shared_options(*command);
  command->add_option("PROMPT", options->prompt, "the user's message, or with --raw the text to go on from")
      ->required();
  add_flag(*command, "--raw", options->is_raw, "plain completion, without the chat template");
  command->footer(
      "Examples:\n  takt run smollm2-135m \"Write a haiku about rain\"\n  takt run model.gguf --raw \"Once upon a "
      "time\" -n 64 --temperature 0\n" +
      std::string(kTimesHelp));
  command->callback([options] { run(*options); });
}

void add_chat_command(CLI::App& app) {
  auto* command = app.add_subcommand("chat", "Talk with a model on the terminal");
  auto options = add_shared_options(*command);
  command->footer("Example:\n  takt chat smollm2-135m --system \"Answer in one sentence.\"");
  command->callback([options] { chat(*options); });
}

}  // namespace takt::apps
