// The scheduler's calls and answers as text: one line each. It is the format of recordings and of tests/scenarios, and
// two answers are the same exactly when their lines are.
//
//   takt-recording 1
//   capacity page_count=64 page_tokens=32 … (every field of contract::Capacity; with a prefix cache also prefix_cache=on)
//   policy step_us_max=250000 late=accept interactive:ttft=2000000 interactive:itl=80000 batch:rows=4
//                                       only the limits that are set; without the line: none
//   submit 1500 id=1 class=interactive outputs=64 prompt=1,2,3      at 1500 us; "0*500" stands for 500 tokens of id 0;
//                                       "tenant=7" after the class when there is one; "cache=unread" before the prompt
//   = accepted outputs=64 [ttft=900 finish=4000]                    or: = refused queue_full SENTENCE
//   next 1500
//   = step=1 preempt:7 copy:3>9 prefill:1[0,128)+0+1 prefill:2[0,9)last+2 decode:4@77~12+5
//                                                "+": pages added; "~": draft tokens. Or: = idle [wake=2000]
//   absorb 1800 step=1 us=300 prefill:1+0 prefill:2+1 decode:4+1=stop  per row: tokens accepted, why it ended
//                                              "decode:4+1:523": with their ids; "+2:523,7"
//   cancel 1900 id=1
//   bounds                                                          (scenarios only)
//   = waiting=0 waiting_tokens=0 prefilling=0 decoding=1 pages_used=3 pages_free=61 preemptions=0
//   times                                                           (scenarios only)
//   = gap_max=300 prompt_wait_max=0
//   cache                                                           (scenarios only)
//   = pages_cached=2 asked=80 hit=32 evicted=0 lost=0
// Blank lines and lines that begin with '#' are comments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "contract/model_shape.h"
#include "contract/request.h"
#include "contract/scheduler_port.h"
#include "contract/service_policy.h"
#include "contract/step_plan.h"

namespace takt::worlds {

inline constexpr std::string_view kRecordingHeader = "takt-recording 1";

// Without the line end. Answers without the leading "= ".
std::string to_text(const contract::Capacity& capacity);
std::string to_text(const contract::ServicePolicy& policy);
std::string to_text(const contract::Admission& admission);
std::string to_text(const contract::StepPlan& plan);
std::string to_text_submit(const contract::Request& request, base::Micros now);
std::string to_text_cancel(contract::RequestId id, base::Micros now);
std::string to_text_next(base::Micros now);
std::string to_text_absorb(const contract::StepResult& result, base::Micros now);
std::string to_text_counts(const contract::Bounds& bounds);
std::string to_text_times(const contract::Bounds& bounds);
std::string to_text_cache(const contract::Bounds& bounds);

// One call, read back. Only the members that belong to `kind` are set.
struct Call {
  enum class Kind { submit, cancel, next, absorb, bounds, times, cache };
  Kind kind = Kind::next;
  base::Micros now;
  contract::Request request;    // submit; cancel: its id
  contract::StepResult result;  // absorb
};

// Errors: invalid_file, what was wrong in the line. Numbers are limited, so that no sum of theirs overflows; a line
// makes no more than kPromptTokensMax tokens.
inline constexpr uint32_t kPromptTokensMax = 1u << 24;
base::Result<contract::Capacity> parse_capacity(std::string_view line);
base::Result<contract::ServicePolicy> parse_policy(std::string_view line);
base::Result<Call> parse_call(std::string_view line);

}  // namespace takt::worlds
