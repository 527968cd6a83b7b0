// One accepted request inside the scheduler: how long its token sequence is, how much of it is in the KV cache, where
// that is.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/units.h"
#include "contract/ids.h"
#include "contract/request.h"
#include "contract/step_plan.h"
#include "scheduler/pages/prefix_cache.h"

namespace takt::scheduler {

// The one total order of requests: who is served first, and (from the other end) who gives up pages. It is fixed when
// the request arrives and never changes, which is what makes starvation and endless mutual preemption impossible:
// finitely many requests can ever stand before a given one, and pages only ever move to a request that stands before
// their owner. How it is found: ranking.h.
struct Rank {
  base::Micros due;
  uint64_t arrival = 0;  // counts from 1; unique
  auto operator<=>(const Rank&) const = default;
};

enum class Stage : uint8_t {
  waiting,     // owns no page; also after a preemption
  prefilling,  // some of the sequence is in the KV cache, or will be after this step
  decoding,    // all but the newest token is in the KV cache
};

struct Sequence {
  contract::RequestId id;
  Rank rank;
  contract::ServiceClass service_class = contract::ServiceClass::interactive;
  std::shared_ptr<const std::vector<contract::TokenId>> prompt;
  uint32_t prompt_tokens = 0;
  uint32_t output_tokens_max = 0;  // 0: the prompt is evaluated, nothing is sampled
  uint64_t tenant = 0;
  bool reads_prefix_cache = true;
  base::Micros submitted;
  uint32_t tokens_cached_at_submit = 0;  // for predictions: what it will find cached if it starts soon
  base::Micros prefill_us;               // predicted when it came, of its prompt alone, without what was cached
  bool is_in_backlog = false;            // Ranking counts it as waiting
  base::Micros last_token;               // when it got its newest token; while decoding only

  Stage stage = Stage::waiting;
  uint32_t tokens_produced = 0;            // output tokens so far; they survive a preemption
  uint32_t tokens_evaluated = 0;           // positions [0, tokens_evaluated) are in the KV cache
  std::vector<contract::PageId> pages;     // page i holds positions [i * page_tokens, (i + 1) * page_tokens)
  uint32_t pages_sent = 0;                 // of them, those that the engine was told of
  std::vector<contract::TokenId> outputs;  // as far as they are known: see contract::RowResult
  bool are_outputs_known = true;
  uint32_t tokens_lost = 0;    // evaluated when it was preempted last
  bool has_given_way = false;  // was preempted and has not started again yet
  // How much of it stands in the prefix cache: pages [0, pages_published) are those of the tree's nodes down to `node`.
  PrefixCache::Node node = PrefixCache::kRoot;
  uint32_t pages_published = 0;
  bool is_published = true;  // false: an equal page of another was there first, the rest is kept private
  bool is_in_step = false;
  bool is_cancelled = false;  // only while is_in_step: ends at absorb

  uint32_t length() const { return prompt_tokens + tokens_produced; }
  uint32_t tokens_unevaluated() const { return length() - tokens_evaluated; }
  uint32_t outputs_remaining() const { return output_tokens_max - tokens_produced; }
  TokenView tokens() const { return {*prompt, outputs}; }
  // Notes which tokens a step yielded. After a gap nothing is known any more, or positions would be named wrongly.
  void add_outputs(const contract::RowResult& result) {
    are_outputs_known &= result.tokens.size() == result.tokens_accepted;
    if (are_outputs_known) outputs.insert(outputs.end(), result.tokens.begin(), result.tokens.end());
  }
};

// Orders pointers by what they point to: never by address, which would not replay.
struct ByRank {
  using is_transparent = void;
  bool operator()(const Rank& a, const Sequence* b) const { return a < b->rank; }
  bool operator()(const Sequence* a, const Rank& b) const { return a->rank < b; }
  bool operator()(const Sequence* a, const Sequence* b) const { return a->rank < b->rank; }
};

}  // namespace takt::scheduler
