#include "server/metrics/server_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <mutex>
#include <string>

namespace takt::server {

namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

// 1 ms to 100 s, about two buckets to an octave at the fast end: fine enough to tell a CPU's and a GPU's steps apart.
const Histogram::BucketBoundaries kSeconds = {0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05,
                                              0.075, 0.1,   0.15,  0.2,   0.3,    0.5,  0.75,  1,    1.5,  2,
                                              3,     5,     7.5,   10,    15,     20,   30,    50,   75,   100};

double seconds_between(base::Micros from, base::Micros to) { return static_cast<double>((to - from).count()) / 1e6; }

}  // namespace

struct ServerMetrics::Impl {
  prometheus::Registry registry;

  Counter& counter(const char* name, const char* help) {
    return BuildCounter().Name(name).Help(help).Register(registry).Add({});
  }
  Gauge& gauge(const char* name, const char* help) {
    return BuildGauge().Name(name).Help(help).Register(registry).Add({});
  }
  Histogram& histogram(const char* name, const char* help) {
    return BuildHistogram().Name(name).Help(help).Register(registry).Add({}, kSeconds);
  }

  Family<Counter>& http_replies =
      BuildCounter().Name("takt_http_replies_total").Help("HTTP replies begun, by status code.").Register(registry);
  Family<Counter>& finished =
      BuildCounter()
          .Name("takt_requests_finished_total")
          .Help("Accepted requests that ended, by endpoint and outcome. Each choice is a request.")
          .Register(registry);
  Family<Counter>& refused = BuildCounter()
                                 .Name("takt_requests_refused_total")
                                 .Help("Requests not accepted, by endpoint and reason (an error code).")
                                 .Register(registry);

  Counter& prefill_tokens =
      counter("takt_prefill_tokens_total", "Prompt tokens evaluated, of prompts that were finished.");
  Counter& cached_tokens = counter("takt_prefill_cached_tokens_total",
                                   "Prompt tokens taken from the prefix cache instead of being evaluated.");
  Counter& decode_tokens =
      counter("takt_output_tokens_total", "Output tokens produced, the first of each request included.");

  Histogram& queue_seconds =
      histogram("takt_queue_seconds", "From submission to the first prefill chunk, per request that got so far.");
  Histogram& prefill_seconds =
      histogram("takt_prefill_seconds", "From the first prefill chunk to the first output token, per request.");
  Histogram& first_token_seconds =
      histogram("takt_time_to_first_token_seconds", "From submission to the first output token, per request.");
  Histogram& decode_seconds =
      histogram("takt_decode_seconds", "From the first output token to the end, per request with two or more.");
  Histogram& mean_gap_seconds =
      histogram("takt_decode_mean_gap_seconds", "Decode time over (output tokens - 1), per request with two or more.");

  Histogram& prediction_error =
      BuildHistogram()
          .Name("takt_predicted_ttft_error_ratio")
          .Help("Time to first token over what was foretold at submission, per request: 1 is right, 2 twice as late.")
          .Register(registry)
          .Add({}, Histogram::BucketBoundaries{0.25, 0.5, 0.67, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.25, 1.5, 2, 4, 8});

  std::mutex render_mutex;

  // Raises a counter to what the scheduler has counted. (render_mutex)
  static void raise(Counter& raised, uint64_t count) {
    raised.Increment(std::max(0.0, static_cast<double>(count) - raised.Value()));
  }
  void raise(const char* name, const char* help, uint64_t count) { raise(counter(name, help), count); }
  void raise_seconds(const char* name, const char* help, base::Micros time) {
    Counter& raised = counter(name, help);
    raised.Increment(std::max(0.0, static_cast<double>(time.count()) / 1e6 - raised.Value()));
  }
  void raise_attainment(const contract::Bounds& bounds);
};

void ServerMetrics::Impl::raise_attainment(const contract::Bounds& bounds) {
  Family<Counter>& first_tokens = BuildCounter()
                                      .Name("takt_first_tokens_total")
                                      .Help("First tokens by class, and whether the class's TTFT limit was kept.")
                                      .Register(registry);
  Family<Counter>& gaps = BuildCounter()
                              .Name("takt_token_gaps_total")
                              .Help("Gaps between tokens by class, and whether the class's ITL limit was kept.")
                              .Register(registry);
  const auto count = [](Family<Counter>& family, const std::string& class_name, bool is_late, uint64_t value) {
    raise(family.Add({{"service_class", class_name}, {"late", is_late ? "true" : "false"}}), value);
  };
  for (const contract::ServiceClass service_class : contract::kServiceClasses) {
    const contract::ClassAttainment& attainment = bounds.attainment[static_cast<size_t>(service_class)];
    const std::string class_name(contract::name(service_class));
    count(first_tokens, class_name, false, attainment.first_tokens - attainment.first_tokens_late);
    count(first_tokens, class_name, true, attainment.first_tokens_late);
    count(gaps, class_name, false, attainment.gaps - attainment.gaps_late);
    count(gaps, class_name, true, attainment.gaps_late);
  }
}

ServerMetrics::ServerMetrics() : impl_(std::make_unique<Impl>()) {}
ServerMetrics::~ServerMetrics() = default;

void ServerMetrics::count_http_reply(int status) {
  impl_->http_replies.Add({{"code", std::to_string(status)}}).Increment();
}

void ServerMetrics::count_refusal(std::string_view endpoint, std::string_view reason) {
  impl_->refused.Add({{"endpoint", std::string(endpoint)}, {"reason", std::string(reason)}}).Increment();
}

void ServerMetrics::add_prompt_tokens(base::Tokens evaluated, base::Tokens cached) {
  impl_->prefill_tokens.Increment(static_cast<double>(evaluated.count()));
  impl_->cached_tokens.Increment(static_cast<double>(cached.count()));
}

void ServerMetrics::add_output_tokens(base::Tokens count) {
  impl_->decode_tokens.Increment(static_cast<double>(count.count()));
}

void ServerMetrics::record_finish(std::string_view endpoint, contract::FinishReason finish,
                                  const contract::RequestTimes& times) {
  impl_->finished.Add({{"endpoint", std::string(endpoint)}, {"outcome", std::string(contract::name(finish))}})
      .Increment();
  if (!times.first_scheduled) return;
  impl_->queue_seconds.Observe(seconds_between(times.submitted, *times.first_scheduled));
  if (!times.first_token) return;
  impl_->prefill_seconds.Observe(seconds_between(*times.first_scheduled, *times.first_token));
  impl_->first_token_seconds.Observe(seconds_between(times.submitted, *times.first_token));
  if (times.predicted_ttft && times.predicted_ttft->count() > 0) {
    impl_->prediction_error.Observe(seconds_between(times.submitted, *times.first_token) * 1e6 /
                                    static_cast<double>(times.predicted_ttft->count()));
  }
  if (!times.finished || times.output_tokens.count() < 2) return;
  const double decode = seconds_between(*times.first_token, *times.finished);
  impl_->decode_seconds.Observe(decode);
  impl_->mean_gap_seconds.Observe(decode / static_cast<double>(times.output_tokens.count() - 1));
}

std::string ServerMetrics::render(const std::optional<contract::Bounds>& bounds) {
  const std::lock_guard lock(impl_->render_mutex);
  if (bounds) {
    const auto set = [this](const char* name, const char* help, double value) { impl_->gauge(name, help).Set(value); };
    set("takt_requests_waiting", "Requests whose prompt is not begun.", bounds->waiting_requests);
    set("takt_requests_prefilling", "Requests whose prompt is being evaluated.", bounds->prefilling_requests);
    set("takt_requests_decoding", "Requests that produce output tokens.", bounds->decoding_requests);
    set("takt_prefill_queue_tokens", "Prompt tokens not evaluated yet, of all requests.",
        static_cast<double>(bounds->waiting_tokens.count()));
    set("takt_kv_pages_used", "KV pages held by requests.", bounds->pages_used);
    set("takt_kv_pages_free", "KV pages that no request holds.", bounds->pages_free);
    set("takt_kv_pages_cached", "Of the free KV pages, those that the prefix cache keeps until they are needed.",
        bounds->pages_cached);
    set("takt_decode_gap_bound_seconds", "The longest gap a decoding request can see now; 0: not known yet.",
        static_cast<double>(bounds->gap_max.count()) / 1e6);
    set("takt_prefill_wait_bound_seconds", "The longest wait of the prompt at the end of the queue; 0: not known yet.",
        static_cast<double>(bounds->prompt_wait_max.count()) / 1e6);
    set("takt_step_target_seconds", "What the last step of both phases was allowed to take; 0: none yet.",
        static_cast<double>(bounds->step_us_target.count()) / 1e6);
    set("takt_chunk_tokens", "Prompt tokens of that step.", bounds->chunk_tokens);
    set("takt_step_margin_ratio", "How much longer than expected a step is planned to be at most.",
        bounds->margin_thousandths / 1e3);
    impl_->raise("takt_preemptions_total", "Requests whose KV pages were taken away for a while.", bounds->preemptions);
    impl_->raise("takt_preempted_tokens_total", "Tokens evaluated again after preemptions.",
                 bounds->preempted_tokens_lost);
    impl_->raise_seconds("takt_preempted_seconds_total", "Time that this was expected to take.",
                         bounds->preempted_time_lost);
    impl_->raise("takt_prefix_cache_queries_total", "Tokens of starting requests that might have been cached.",
                 bounds->prefix_tokens_asked);
    impl_->raise("takt_prefix_cache_hits_total", "Of these, tokens taken from the prefix cache.",
                 bounds->prefix_tokens_hit);
    impl_->raise("takt_prefix_cache_evictions_total", "Cached KV pages given up because pages were needed.",
                 bounds->prefix_pages_evicted);
    impl_->raise("takt_bound_violations_total", "Steps that took longer than was promised for them.",
                 bounds->bound_violations);
    impl_->raise_attainment(*bounds);
  }
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace takt::server
