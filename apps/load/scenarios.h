// Loads that have a name: each asks one question about prefill and decode on one server.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "load/load_report.h"
#include "load/load_run.h"

namespace takt::apps {

struct ScenarioSpec {
  uint32_t streams = 4;      // chats that decode
  uint32_t long_tokens = 0;  // 0: 3,000 (interference, second-turn) or 6,000 (burst)
  uint32_t count = 0;        // 0: 32 short prompts (burst), 64 requests (background)
  double settle_s = 3;       // chats alone, before anything else comes
};

// interference  chats decode, then a long prompt arrives: their gaps before it and until its first token; its TTFT alone and beside
// burst         short prompts behind a long one, and the same without it: their TTFT; the long one's TTFT alone and before them
// second-turn   a long chat's first and second turn: TTFT, tokens from a cache
// background    a job of requests of class background under chats: the chats' gaps before and during it; the job's tokens/s
// Errors: not_found (no such scenario), io (a request that the scenario stands on failed: its message).
base::Result<Figures> run_scenario(const std::string& name, const ScenarioSpec& spec, LoadSession& session);

// `goodput` is no course of events but a load: log-normal lengths (prompts of median e^5.3 = 200, answers of e^4 = 55 tokens), and TTFT
// ≤ 3 s, mean ITL ≤ 150 ms, no gap over 1 s, unless `slo` says otherwise.
void apply_goodput_preset(LoadSpec& spec, std::string& prompt, std::string& output, std::string& slo);

}  // namespace takt::apps
