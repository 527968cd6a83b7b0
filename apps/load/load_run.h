// Plays a plan against a server.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "load/load_client.h"
#include "load/load_plan.h"
#include "load/load_stats.h"
#include "load/prompt_text.h"

namespace takt::apps {

// A server, and how to write texts of a given length for it.
struct LoadSession {
  LoadClient& client;
  PromptText text;
  TokenScale scale;
  std::string service_class;  // of all requests; empty: not sent
  std::function<void(int64_t done, int64_t total)> progress = [](int64_t, int64_t) {};

  // A text of so many tokens that begins like no other.
  std::string prompt(uint32_t tokens) { return text.fresh(scale.words(tokens)); }
};

// Asks for one token behind two short prompts, which tells how the server counts and warms it up. One that reports no usage leaves
// the scale as it is, one token a word, and gives false. Errors: io, with the server's message, when it does not answer.
base::Result<bool> learn_scale(LoadSession& session);

// Open loop: each conversation begins at its time, whatever the server does. Returns when all have ended.
std::vector<LoadRecord> run_open(LoadSession& session, const LoadPlan& plan);
// Closed loop: `clients` clients take the conversations in order, each the next when its own has ended.
std::vector<LoadRecord> run_closed(LoadSession& session, const LoadPlan& plan, uint32_t clients);

}  // namespace takt::apps
