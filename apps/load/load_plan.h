// What a load asks for and when: a pure function of a specification and its seed. No texts yet: see prompt_text.h.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "worlds/sim/random.h"

namespace takt::apps {

// How long prompts or answers are, tokens.
struct LengthSpec {
  enum class Kind : uint8_t { fixed, uniform, log_normal };
  Kind kind = Kind::fixed;
  uint32_t min = 1, max = 1;  // fixed: both the same
  double median = 1;          // log-normal: of the distribution before it is cut to [min, max]
  double sigma = 0;           // log-normal: of the logarithm

  uint32_t draw(worlds::Random& random) const;
};

// "512", "uniform:64:1024", "lognormal:200:1.0:16:3000" (median, sigma, least, most).
// Errors: invalid_argument, naming what was expected.
base::Result<LengthSpec> parse_length(const std::string& text);

enum class LoadProcess : uint8_t {
  poisson,  // independent arrivals
  gamma,    // the same mean rate, in bursts
  closed,   // clients that wait for their answer: the plan has no times
};

struct LoadSpec {
  uint64_t seed = 1;
  LoadProcess process = LoadProcess::poisson;
  double requests_per_s = 1;  // of conversations, when they have several turns
  double burstiness = 2;      // coefficient of variation of the gaps (gamma)
  uint32_t request_count = 100;
  LengthSpec prompt, output;
  uint32_t turns = 1;       // of each conversation; each sends everything before it again
  double think_s_mean = 0;  // between an answer and the next turn, or a closed client's next conversation; exponential
  uint32_t shared_tokens = 0;  // at the beginning of each prompt, the same for all that share it
  uint32_t shared_groups = 1;  // how many such beginnings there are, each as likely
};

// Errors: invalid_argument, naming the option.
base::Status check(const LoadSpec& spec);

struct PlannedTurn {
  uint32_t prompt_tokens = 1;  // what this turn adds, a shared beginning included
  uint32_t output_tokens = 1;
  base::Micros think;  // before it is sent, counted from the end of the turn before
};

struct PlannedConversation {
  base::Micros at;                 // open loop: when its first turn is sent
  std::vector<PlannedTurn> turns;  // not empty
  uint32_t shared_group = 0;       // meaningful when shared_tokens > 0
  uint32_t shared_tokens = 0;
  std::vector<uint32_t> blocks;  // of a trace: names of pieces of 512 tokens that make up the prompt; else empty
};

using LoadPlan = std::vector<PlannedConversation>;

// Precondition: check(spec) is ok. In order of time. Request i of a seed is the same whatever the rate, so that a search for a rate
// compares like with like.
LoadPlan make_load_plan(const LoadSpec& spec);

// A trace of Azure (CSV) or Mooncake (JSONL), told apart by its first character; times are stretched by `time_scale`, and no more than
// `request_count` are taken. Prompts or answers of more than `tokens_max` are cut, if that is not 0.
// Errors: invalid_file, naming the line; invalid_argument when it has no request.
base::Result<LoadPlan> read_load_trace(std::istream& in, double time_scale, uint32_t request_count,
                                       uint32_t tokens_max);

}  // namespace takt::apps
