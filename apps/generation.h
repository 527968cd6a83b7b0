// One answer on a terminal: the sampling options of `run` and `chat`, streaming to stdout, and the timing block.
#pragma once

#include <CLI/CLI.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "contract/serving_port.h"
#include "server/text_services.h"
#include "session.h"

namespace takt::apps {

struct SamplingOptions {
  contract::Sampling sampling;
  std::optional<uint64_t> seed;  // drawn when absent
  int64_t output_tokens_max = 512;
  std::vector<std::string> stop;
};

void add_sampling_options(CLI::App& app, SamplingOptions& options);

// What one request's tokens took; filled by stream_answer().
struct AnswerTimes {
  contract::RequestTimes request;
  std::vector<int64_t> gaps_us;  // between successive output tokens
  contract::FinishReason finish = contract::FinishReason::none;
  std::string error;
  std::string text;  // the whole answer
};

// Submits the prompt and writes the answer to stdout as it comes; Ctrl-C cancels it. Fails the command when it is refused.
AnswerTimes stream_answer(Session& session, const server::TextServices& text, std::vector<contract::TokenId> prompt,
                          const SamplingOptions& options);

// Load, prefill and decode told apart, on stderr: a block, or (brief) one line without the load.
void print_times(const Session& session, const AnswerTimes& times, bool is_brief);

// What the words of the timing block mean, for the help of commands that print it.
inline constexpr const char* kTimesHelp =
    "Timing: TTFT is the time from the request to the first token, ITL (inter-token latency) the time between tokens:\n"
    "half of the gaps are shorter than p50, 99 of 100 shorter than p99.\n"
    "With the machine's ceilings measured once (takt bench roofline), the share of them that each phase reached.";

// Whether Ctrl-C ended the last answer.
bool was_interrupted();

}  // namespace takt::apps
