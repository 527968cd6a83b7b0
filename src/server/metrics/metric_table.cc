#include "server/metrics/metric_table.h"

#include <algorithm>
#include <cassert>
#include <cstdio>

namespace takt::server {

namespace {

using enum MetricKind;
using G = MetricGroup;

constexpr MetricInfo kMetrics[] = {
    {"takt_time_to_first_token_seconds", histogram, G::latency, "",
     "From a request's submission (read, tokenised, accepted) to the end of the step that yielded its first output "
     "token; "
     "queue, load and prefill are in it.",
     "queue_ms + prompt_ms; TTFT"},
    {"takt_inter_token_latency_seconds", histogram, G::latency, "",
     "One sample for each output token but a request's first: time since the step that yielded the one before, divided "
     "by "
     "the tokens of its own step where that yielded several.",
     "ITL"},
    {"takt_e2e_seconds", histogram, G::latency, "",
     "From a request's submission to the end of the step that yielded its last output token.", "E2E"},
    {"takt_queue_seconds", histogram, G::latency, "",
     "From submission to the begin of the step with its first prompt chunk. A preemption later on is in prefill or "
     "decode.",
     "queue_ms"},
    {"takt_prefill_seconds", histogram, G::latency, "",
     "From the begin of the step with its first prompt chunk to its first output token.", "prompt_ms"},
    {"takt_decode_seconds", histogram, G::latency, "",
     "From the first output token to the last, of requests with two or more.", "predicted_ms"},
    {"takt_decode_mean_gap_seconds", histogram, G::latency, "",
     "Decode time divided by (output tokens - 1), of requests with two or more: a request of one token has no sample.",
     "predicted_per_token_ms; TPOT"},
    {"takt_predicted_ttft_error_ratio", histogram, G::latency, "",
     "Time to first token divided by what was foretold at submission: 1 is right, 2 twice as late.", ""},
    {"takt_request_part_seconds_total", counter, G::latency, "part",
     "Request time by where it went (own_compute, other_decode, other_prefill, queue, kv_wait, preemption, recompute, "
     "load, "
     "sampling, host); over all parts it is the requests' whole time from submission on.",
     "prefill_parts_us, decode_parts_us"},
    {"takt_prefill_tokens_total", counter, G::tokens, "",
     "Prompt tokens evaluated, of prompts that were finished; those from the cache are not in it, those evaluated "
     "again are "
     "not counted twice.",
     "prompt_n"},
    {"takt_prefill_cached_tokens_total", counter, G::tokens, "",
     "Prompt tokens taken from the prefix cache instead of being evaluated.", "cache_n"},
    {"takt_output_tokens_total", counter, G::tokens, "", "Output tokens produced, the first of each request included.",
     "predicted_n"},
    {"takt_request_prompt_tokens", histogram, G::tokens, "", "Prompt tokens of a request that ended.",
     "usage.prompt_tokens"},
    {"takt_request_output_tokens", histogram, G::tokens, "", "Output tokens of a request that ended.",
     "usage.completion_tokens"},
    {"takt_http_replies_total", counter, G::requests, "code", "HTTP replies begun, by status code.", ""},
    {"takt_requests_finished_total", counter, G::requests, "endpoint, outcome",
     "Accepted requests that ended, by endpoint and outcome; each choice is a request.", ""},
    {"takt_requests_refused_total", counter, G::requests, "endpoint, reason",
     "Requests not accepted, by endpoint and reason (an error code).", ""},
    {"takt_traces_sent_total", counter, G::requests, "", "Requests whose trace the collector has taken (--otlp).", ""},
    {"takt_traces_dropped_total", counter, G::requests, "",
     "Requests whose trace was dropped: too many were waiting, or the collector did not take it.", ""},
    {"takt_first_tokens_total", counter, G::requests, "service_class, late",
     "First tokens by class, and whether the class's TTFT limit was broken.", ""},
    {"takt_token_gaps_total", counter, G::requests, "service_class, late",
     "Gaps between tokens by class, and whether the class's ITL limit was broken.", ""},
    {"takt_requests_waiting", gauge, G::scheduler, "", "Requests whose prompt is not begun.", ""},
    {"takt_requests_prefilling", gauge, G::scheduler, "", "Requests whose prompt is being evaluated.", ""},
    {"takt_requests_decoding", gauge, G::scheduler, "", "Requests that produce output tokens.", ""},
    {"takt_prefill_queue_tokens", gauge, G::scheduler, "", "Prompt tokens not evaluated yet, of all requests.", ""},
    {"takt_decode_gap_bound_seconds", gauge, G::scheduler, "",
     "The longest gap a decoding request can see now; 0: not known yet.", ""},
    {"takt_prefill_wait_bound_seconds", gauge, G::scheduler, "",
     "The longest wait of the prompt at the end of the queue; 0: not known yet.", ""},
    {"takt_step_target_seconds", gauge, G::scheduler, "",
     "What the last step of both phases was allowed to take; 0: none yet.", ""},
    {"takt_chunk_tokens", gauge, G::scheduler, "", "Prompt tokens of that step.", ""},
    {"takt_step_margin_ratio", gauge, G::scheduler, "",
     "How much longer than expected a step is planned to be at most.", ""},
    {"takt_bound_violations_total", counter, G::scheduler, "", "Steps that took longer than was promised for them.",
     ""},
    {"takt_preemptions_total", counter, G::scheduler, "", "Requests whose KV pages were taken away for a while.", ""},
    {"takt_preempted_tokens_total", counter, G::scheduler, "", "Tokens evaluated again after preemptions.", ""},
    {"takt_preempted_seconds_total", counter, G::scheduler, "", "Time that this was expected to take.", ""},
    {"takt_kv_pages_used", gauge, G::cache, "", "KV pages held by requests.", ""},
    {"takt_kv_pages_free", gauge, G::cache, "", "KV pages that no request holds.", ""},
    {"takt_kv_pages_cached", gauge, G::cache, "",
     "Of the free KV pages, those that the prefix cache keeps until they are needed.", ""},
    {"takt_prefix_cache_queries_total", counter, G::cache, "",
     "Tokens of starting requests that might have been cached.", ""},
    {"takt_prefix_cache_hits_total", counter, G::cache, "", "Of these, tokens taken from the prefix cache.", ""},
    {"takt_prefix_cache_evictions_total", counter, G::cache, "", "Cached KV pages given up because pages were needed.",
     ""},
    {"takt_steps_total", counter, G::steps, "", "Steps of the model.", ""},
    {"takt_step_seconds", histogram, G::steps, "rows",
     "What a step took, by the rows in it: prefill (prompt chunks only), decode, or mixed.", ""},
    {"takt_step_sampling_seconds_total", counter, G::steps, "",
     "Of the steps' time, from logits to tokens: sampler, grammar, stop strings.", ""},
    {"takt_model_load_seconds", gauge, G::load, "part",
     "What loading the model took, by part (mapping, repacking, allocating, other).", "load_us"},

    {"vllm:num_requests_running", gauge, G::vllm, "model_name, engine",
     "takt_requests_prefilling + takt_requests_decoding.", ""},
    {"vllm:num_requests_waiting", gauge, G::vllm, "model_name, engine", "takt_requests_waiting.", ""},
    {"vllm:kv_cache_usage_perc", gauge, G::vllm, "model_name, engine", "KV pages used divided by all of them: 0 to 1.",
     ""},
    {"vllm:cache_config_info", gauge, G::vllm, "model_name, engine, block_size, num_gpu_blocks, enable_prefix_caching",
     "1, with the KV pages' size in tokens and their number as labels.", ""},
    {"vllm:prompt_tokens_total", counter, G::vllm, "model_name, engine",
     "Prompt tokens of requests that began to answer, those from the cache included.", ""},
    {"vllm:generation_tokens_total", counter, G::vllm, "model_name, engine", "takt_output_tokens_total.", ""},
    {"vllm:prefix_cache_queries_total", counter, G::vllm, "model_name, engine", "takt_prefix_cache_queries_total.", ""},
    {"vllm:prefix_cache_hits_total", counter, G::vllm, "model_name, engine", "takt_prefix_cache_hits_total.", ""},
    {"vllm:num_preemptions_total", counter, G::vllm, "model_name, engine", "takt_preemptions_total.", ""},
    {"vllm:request_success_total", counter, G::vllm, "model_name, engine, finished_reason",
     "Requests that ended by themselves, by reason (stop, length).", ""},
    {"vllm:time_to_first_token_seconds", histogram, G::vllm, "model_name, engine", "takt_time_to_first_token_seconds.",
     ""},
    {"vllm:inter_token_latency_seconds", histogram, G::vllm, "model_name, engine", "takt_inter_token_latency_seconds.",
     ""},
    {"vllm:request_time_per_output_token_seconds", histogram, G::vllm, "model_name, engine",
     "takt_decode_mean_gap_seconds.", ""},
    {"vllm:e2e_request_latency_seconds", histogram, G::vllm, "model_name, engine", "takt_e2e_seconds.", ""},
    {"vllm:request_queue_time_seconds", histogram, G::vllm, "model_name, engine", "takt_queue_seconds.", ""},
    {"vllm:request_prefill_time_seconds", histogram, G::vllm, "model_name, engine", "takt_prefill_seconds.", ""},
    {"vllm:request_decode_time_seconds", histogram, G::vllm, "model_name, engine", "takt_decode_seconds.", ""},
    {"vllm:request_prompt_tokens", histogram, G::vllm, "model_name, engine", "takt_request_prompt_tokens.", ""},
    {"vllm:request_generation_tokens", histogram, G::vllm, "model_name, engine", "takt_request_output_tokens.", ""},

    {"llamacpp:prompt_tokens_total", counter, G::llamacpp, "", "takt_prefill_tokens_total.", ""},
    {"llamacpp:prompt_seconds_total", counter, G::llamacpp, "", "Sum of takt_prefill_seconds.", ""},
    {"llamacpp:tokens_predicted_total", counter, G::llamacpp, "", "takt_output_tokens_total.", ""},
    {"llamacpp:tokens_predicted_seconds_total", counter, G::llamacpp, "", "Sum of takt_decode_seconds.", ""},
    {"llamacpp:n_decode_total", counter, G::llamacpp, "", "takt_steps_total.", ""},
    {"llamacpp:prompt_tokens_seconds", gauge, G::llamacpp, "",
     "Prompt tokens evaluated per second of prefill, since the start.", ""},
    {"llamacpp:predicted_tokens_seconds", gauge, G::llamacpp, "",
     "Output tokens behind each request's first per second of decode, since the start.", ""},
    {"llamacpp:requests_processing", gauge, G::llamacpp, "", "takt_requests_prefilling + takt_requests_decoding.", ""},
    {"llamacpp:requests_deferred", gauge, G::llamacpp, "", "takt_requests_waiting.", ""},
};

constexpr double kSeconds[] = {0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05,
                               0.075, 0.1,   0.15,  0.2,   0.3,    0.5,  0.75,  1,    1.5,  2,
                               3,     5,     7.5,   10,    15,     20,   30,    50,   75,   100};
constexpr double kTokens[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};
constexpr double kRatios[] = {0.25, 0.5, 0.67, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.25, 1.5, 2, 4, 8};

constexpr std::string_view kIntroduction =
    "# Metrics\n\n"
    "<!-- Written by `takt metrics`; a test compares. Change src/server/metrics/metric_table.cc instead. -->\n\n"
    "One table in code gives every figure its name, unit and formula: `/metrics` (Prometheus), the `timings` of a "
    "reply, the live\n"
    "stream and the bench take them from there. A *step* is one evaluation of the model; a mixed step has rows of both "
    "phases.\n\n"
    "What holds whatever the batching, preemption and caching:\n\n"
    "- Each phase has its own clock: queue + load + prefill + decode of a request is its whole time, in whole "
    "microseconds, with `==`.\n"
    "- TTFT begins at submission, so the queue is in it, and ends with the first *token*, not with an empty chunk or a "
    "role.\n"
    "- A gap (ITL) has one sample a token; a request of one token has none, so that it neither counts as 0 nor as "
    "kept.\n"
    "- Rates of decode leave out each request's first token: it is the prompt's fruit.\n"
    "- A preempted request stays in the phase it was in: what that cost is in the parts `preemption` and `recompute`.\n"
    "- Cached prompt tokens are not evaluated ones, and are counted apart.\n\n"
    "## Where a token's time went\n\n"
    "`GET /v1/takt/requests/{id}`, `takt explain ID` and `\"timings\": true` in a request divide time into these "
    "parts. A step's time is\n"
    "divided by marginal cost: `own_compute` is what the step would have taken with this request's rows alone, by the "
    "scheduler's estimate\n"
    "scaled to what the step took; the rest belongs to the other rows, in proportion to what the step would have been "
    "shorter without them.\n\n"
    "| part | what |\n| --- | --- |\n"
    "| `own_compute` | its own rows |\n"
    "| `other_decode` | what other requests' decode rows added to its steps |\n"
    "| `other_prefill` | what other requests' prompt chunks added; `caused_by` says whose |\n"
    "| `queue` | not in a step: before its first one, or while others had their turn |\n"
    "| `kv_wait` | the same, while KV pages were short |\n"
    "| `preemption` | its pages were taken away and it waits to begin again |\n"
    "| `recompute` | its own rows that evaluate again what was lost so |\n"
    "| `load` | the model was being loaded |\n"
    "| `sampling` | from logits to tokens, of all rows of its steps |\n"
    "| `host` | between steps: planning, delivery |\n"
    "| `network` | produced, but not handed to the network yet |\n";

struct GroupTitle {
  MetricGroup group;
  std::string_view title;
};
constexpr GroupTitle kTitles[] = {{G::latency, "Latency"},
                                  {G::tokens, "Tokens"},
                                  {G::requests, "Requests"},
                                  {G::scheduler, "Scheduler"},
                                  {G::cache, "KV and prefix cache"},
                                  {G::steps, "Steps"},
                                  {G::load, "Load"},
                                  {G::vllm, "The names that vLLM's routers and dashboards read"},
                                  {G::llamacpp, "llama-server's names"}};

}  // namespace

std::string_view name(MetricKind kind) { return kind == counter ? "counter" : kind == gauge ? "gauge" : "histogram"; }

std::span<const MetricInfo> metrics() { return kMetrics; }

const MetricInfo& metric(std::string_view name) {
  const auto found = std::find_if(std::begin(kMetrics), std::end(kMetrics),
                                  [name](const MetricInfo& info) { return info.name == name; });
  assert(found != std::end(kMetrics) && "not in the dictionary");
  return *found;
}

std::span<const double> second_buckets() { return kSeconds; }
std::span<const double> token_buckets() { return kTokens; }
std::span<const double> ratio_buckets() { return kRatios; }

std::string metrics_markdown() {
  std::string out(kIntroduction);
  for (const GroupTitle& title : kTitles) {
    out += "\n## " + std::string(title.title) +
           "\n\n| name | kind | labels | meaning | elsewhere |\n| --- | --- | --- | --- | --- |\n";
    for (const MetricInfo& info : kMetrics) {
      if (info.group != title.group) continue;
      out += "| `" + std::string(info.name) + "` | " + std::string(name(info.kind)) + " | " + std::string(info.labels) +
             " | " + std::string(info.formula) + " | " + std::string(info.in_api) + " |\n";
    }
  }
  out += "\nBuckets of histograms in seconds:";
  char text[16];
  for (const double bound : kSeconds) {
    std::snprintf(text, sizeof text, " %g", bound);
    out += text;
  }
  out += ".\n";
  return out;
}

}  // namespace takt::server
