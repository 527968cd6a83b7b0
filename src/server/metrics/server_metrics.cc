#include "server/metrics/server_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "server/metrics/metric_table.h"

namespace takt::server {

namespace {

using contract::TimePart;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;

Histogram::BucketBoundaries buckets(std::span<const double> bounds) { return {bounds.begin(), bounds.end()}; }

double seconds(base::Micros micros) { return static_cast<double>(micros.count()) / 1e6; }
double seconds_between(base::Micros from, base::Micros to) { return seconds(to - from); }

// Raises a counter to what somebody else has counted.
void raise(Counter& counter, double count) { counter.Increment(std::max(0.0, count - counter.Value())); }

}  // namespace

// Families and their metrics are looked up by the dictionary's name, so that nothing is shown that is not in it.
struct ServerMetrics::Impl {
  prometheus::Registry registry;

  template <class Builder>
  auto& family(Builder builder, const char* name) {
    return builder.Name(name).Help(std::string(metric(name).formula)).Register(registry);
  }
  Family<Counter>& counters(const char* name) { return family(prometheus::BuildCounter(), name); }
  Counter& counter(const char* name, const Labels& labels = {}) { return counters(name).Add(labels); }
  Gauge& gauge(const char* name, const Labels& labels = {}) {
    return family(prometheus::BuildGauge(), name).Add(labels);
  }
  Histogram& histogram(const char* name, std::span<const double> bounds, const Labels& labels = {}) {
    return family(prometheus::BuildHistogram(), name).Add(labels, buckets(bounds));
  }
  Histogram& times(const char* name, const Labels& labels = {}) { return histogram(name, second_buckets(), labels); }

  Family<Counter>& http_replies = counters("takt_http_replies_total");
  Family<Counter>& finished = counters("takt_requests_finished_total");
  Family<Counter>& refused = counters("takt_requests_refused_total");
  Counter& prefill_tokens = counter("takt_prefill_tokens_total");
  Counter& cached_tokens = counter("takt_prefill_cached_tokens_total");
  Counter& output_tokens = counter("takt_output_tokens_total");
  Counter& steps = counter("takt_steps_total");
  Counter& step_sampling = counter("takt_step_sampling_seconds_total");
  Histogram& prefill_steps = times("takt_step_seconds", {{"rows", "prefill"}});
  Histogram& decode_steps = times("takt_step_seconds", {{"rows", "decode"}});
  Histogram& mixed_steps = times("takt_step_seconds", {{"rows", "mixed"}});
  Histogram& prediction_error = histogram("takt_predicted_ttft_error_ratio", ratio_buckets());
  std::array<Counter*, contract::kTimePartCount> parts{};

  // One figure under Takt's name and, once a model is served, under vLLM's.
  struct Twin {
    Histogram* ours = nullptr;
    std::atomic<Histogram*> theirs{nullptr};
    void observe(double value) {
      ours->Observe(value);
      if (Histogram* twin = theirs.load()) twin->Observe(value);
    }
  };
  std::atomic<Counter*> success_stop{nullptr}, success_length{nullptr};  // vLLM's; null: no model yet
  Twin first_token, gap, e2e, queue, prefill, decode, mean_gap, prompt_length, output_length;
  // What llama-server sums up. (sums_mutex)
  std::mutex sums_mutex;
  double prefill_s = 0, decode_s = 0, prefill_n = 0, decode_n = 0;

  std::mutex render_mutex;
  Labels model_labels;          // (render_mutex) empty: no model yet
  contract::Capacity capacity;  // (render_mutex)

  Impl();
  void show_model(const std::string& name, const LiveFacts& facts);
  void show_scheduler(const contract::Bounds& bounds);
  void show_attainment(const contract::Bounds& bounds);
  void show_vllm(const contract::Bounds& bounds);
  void show_llamacpp(const contract::Bounds& bounds);
  void record_times(const contract::RequestTimes& times);
};

ServerMetrics::Impl::Impl() {
  first_token.ours = &times("takt_time_to_first_token_seconds");
  gap.ours = &times("takt_inter_token_latency_seconds");
  e2e.ours = &times("takt_e2e_seconds");
  queue.ours = &times("takt_queue_seconds");
  prefill.ours = &times("takt_prefill_seconds");
  decode.ours = &times("takt_decode_seconds");
  mean_gap.ours = &times("takt_decode_mean_gap_seconds");
  prompt_length.ours = &histogram("takt_request_prompt_tokens", token_buckets());
  output_length.ours = &histogram("takt_request_output_tokens", token_buckets());
  for (size_t i = 0; i < contract::kTimePartCount; ++i) {
    const auto part = static_cast<TimePart>(i);
    if (part == TimePart::network) continue;  // known behind the loop only: see /v1/takt/requests
    parts[i] = &counter("takt_request_part_seconds_total", {{"part", std::string(contract::name(part))}});
  }
}

void ServerMetrics::Impl::show_model(const std::string& name, const LiveFacts& facts) {
  const std::lock_guard lock(render_mutex);
  capacity = facts.capacity;
  model_labels = {{"model_name", name}, {"engine", "0"}};
  first_token.theirs = &times("vllm:time_to_first_token_seconds", model_labels);
  gap.theirs = &times("vllm:inter_token_latency_seconds", model_labels);
  e2e.theirs = &times("vllm:e2e_request_latency_seconds", model_labels);
  queue.theirs = &times("vllm:request_queue_time_seconds", model_labels);
  prefill.theirs = &times("vllm:request_prefill_time_seconds", model_labels);
  decode.theirs = &times("vllm:request_decode_time_seconds", model_labels);
  mean_gap.theirs = &times("vllm:request_time_per_output_token_seconds", model_labels);
  prompt_length.theirs = &histogram("vllm:request_prompt_tokens", token_buckets(), model_labels);
  output_length.theirs = &histogram("vllm:request_generation_tokens", token_buckets(), model_labels);
  const auto success = [this](const char* reason) {
    Labels labels = model_labels;
    labels["finished_reason"] = reason;
    return &counter("vllm:request_success_total", labels);
  };
  success_stop = success("stop");
  success_length = success("length");
  Labels labels = model_labels;
  labels["block_size"] = std::to_string(capacity.page_tokens);
  labels["num_gpu_blocks"] = std::to_string(capacity.page_count);
  labels["enable_prefix_caching"] = capacity.has_prefix_cache ? "True" : "False";
  gauge("vllm:cache_config_info", labels).Set(1);
  for (const auto& [part, micros] : facts.load_times)
    gauge("takt_model_load_seconds", {{"part", part}}).Set(seconds(micros));
}

void ServerMetrics::Impl::show_scheduler(const contract::Bounds& bounds) {
  gauge("takt_requests_waiting").Set(bounds.waiting_requests);
  gauge("takt_requests_prefilling").Set(bounds.prefilling_requests);
  gauge("takt_requests_decoding").Set(bounds.decoding_requests);
  gauge("takt_prefill_queue_tokens").Set(static_cast<double>(bounds.waiting_tokens.count()));
  gauge("takt_kv_pages_used").Set(bounds.pages_used);
  gauge("takt_kv_pages_free").Set(bounds.pages_free);
  gauge("takt_kv_pages_cached").Set(bounds.pages_cached);
  gauge("takt_decode_gap_bound_seconds").Set(seconds(bounds.gap_max));
  gauge("takt_prefill_wait_bound_seconds").Set(seconds(bounds.prompt_wait_max));
  gauge("takt_step_target_seconds").Set(seconds(bounds.step_us_target));
  gauge("takt_chunk_tokens").Set(bounds.chunk_tokens);
  gauge("takt_step_margin_ratio").Set(bounds.margin_thousandths / 1e3);
  const auto count = [this](const char* name, uint64_t value) { raise(counter(name), static_cast<double>(value)); };
  count("takt_preemptions_total", bounds.preemptions);
  count("takt_preempted_tokens_total", bounds.preempted_tokens_lost);
  raise(counter("takt_preempted_seconds_total"), seconds(bounds.preempted_time_lost));
  count("takt_prefix_cache_queries_total", bounds.prefix_tokens_asked);
  count("takt_prefix_cache_hits_total", bounds.prefix_tokens_hit);
  count("takt_prefix_cache_evictions_total", bounds.prefix_pages_evicted);
  count("takt_bound_violations_total", bounds.bound_violations);
}

void ServerMetrics::Impl::show_attainment(const contract::Bounds& bounds) {
  const auto count = [this](const char* name, const std::string& class_name, bool is_late, uint64_t value) {
    raise(counter(name, {{"service_class", class_name}, {"late", is_late ? "true" : "false"}}),
          static_cast<double>(value));
  };
  for (const contract::ServiceClass service_class : contract::kServiceClasses) {
    const contract::ClassAttainment& attainment = bounds.attainment[static_cast<size_t>(service_class)];
    const std::string class_name(contract::name(service_class));
    count("takt_first_tokens_total", class_name, false, attainment.first_tokens - attainment.first_tokens_late);
    count("takt_first_tokens_total", class_name, true, attainment.first_tokens_late);
    count("takt_token_gaps_total", class_name, false, attainment.gaps - attainment.gaps_late);
    count("takt_token_gaps_total", class_name, true, attainment.gaps_late);
  }
}

void ServerMetrics::Impl::show_vllm(const contract::Bounds& bounds) {
  if (model_labels.empty()) return;
  const double pages = std::max(1u, bounds.pages_used + bounds.pages_free);
  gauge("vllm:num_requests_running", model_labels).Set(bounds.prefilling_requests + bounds.decoding_requests);
  gauge("vllm:num_requests_waiting", model_labels).Set(bounds.waiting_requests);
  gauge("vllm:kv_cache_usage_perc", model_labels).Set(bounds.pages_used / pages);
  const auto count = [this](const char* name, double value) { raise(counter(name, model_labels), value); };
  count("vllm:prompt_tokens_total", prefill_tokens.Value() + cached_tokens.Value());
  count("vllm:generation_tokens_total", output_tokens.Value());
  count("vllm:prefix_cache_queries_total", static_cast<double>(bounds.prefix_tokens_asked));
  count("vllm:prefix_cache_hits_total", static_cast<double>(bounds.prefix_tokens_hit));
  count("vllm:num_preemptions_total", static_cast<double>(bounds.preemptions));
}

void ServerMetrics::Impl::show_llamacpp(const contract::Bounds& bounds) {
  gauge("llamacpp:requests_processing").Set(bounds.prefilling_requests + bounds.decoding_requests);
  gauge("llamacpp:requests_deferred").Set(bounds.waiting_requests);
  raise(counter("llamacpp:prompt_tokens_total"), prefill_tokens.Value());
  raise(counter("llamacpp:tokens_predicted_total"), output_tokens.Value());
  raise(counter("llamacpp:n_decode_total"), steps.Value());
  const std::lock_guard lock(sums_mutex);
  raise(counter("llamacpp:prompt_seconds_total"), prefill_s);
  raise(counter("llamacpp:tokens_predicted_seconds_total"), decode_s);
  gauge("llamacpp:prompt_tokens_seconds").Set(prefill_s > 0 ? prefill_n / prefill_s : 0);
  gauge("llamacpp:predicted_tokens_seconds").Set(decode_s > 0 ? decode_n / decode_s : 0);
}

ServerMetrics::ServerMetrics() : impl_(std::make_unique<Impl>()) {}
ServerMetrics::~ServerMetrics() = default;

void ServerMetrics::set_model(const std::string& name, const LiveFacts& facts) {
  live_.set_policy(facts.policy);
  impl_->show_model(name, facts);
}

void ServerMetrics::export_traces(std::unique_ptr<TraceExporter> exporter) {
  exporter_ = std::move(exporter);
  live_.listen([this](const RequestTrace& trace, base::Micros now) { exporter_->add(trace, now); });
}

void ServerMetrics::count_http_reply(int status) {
  impl_->http_replies.Add({{"code", std::to_string(status)}}).Increment();
}

void ServerMetrics::count_refusal(std::string_view endpoint, std::string_view reason) {
  ++refused_count_;
  impl_->refused.Add({{"endpoint", std::string(endpoint)}, {"reason", std::string(reason)}}).Increment();
}

void ServerMetrics::on_step(const contract::StepRecord& record) {
  live_.on_step(record);
  impl_->steps.Increment();
  impl_->step_sampling.Increment(seconds(record.sampling));
  Histogram& histogram = record.prefill_chunks.empty() ? impl_->decode_steps
                         : record.decode_rows.empty()  ? impl_->prefill_steps
                                                       : impl_->mixed_steps;
  histogram.Observe(seconds_between(record.begin, record.end));
}

void ServerMetrics::record_output(const contract::RequestOutput& output, const contract::RequestTimes& times,
                                  bool is_first) {
  live_.on_output(output, times);
  for (size_t i = 0; i < contract::kTimePartCount; ++i) {
    const base::Micros part = times.since_last.micros[i];
    if (part.count() > 0 && impl_->parts[i] != nullptr) impl_->parts[i]->Increment(seconds(part));
  }
  const auto tokens = static_cast<int64_t>(output.tokens.size());
  impl_->output_tokens.Increment(static_cast<double>(tokens));
  if (is_first && times.first_token) {
    const base::Tokens cached = times.prompt_tokens_cached;
    impl_->prefill_tokens.Increment(static_cast<double>((times.prompt_tokens - cached).count()));
    impl_->cached_tokens.Increment(static_cast<double>(cached.count()));
  } else if (!is_first) {
    for (int64_t i = 0; i < tokens; ++i)
      impl_->gap.observe(seconds(times.since_last.total()) / static_cast<double>(tokens));
  }
}

void ServerMetrics::record_finish(std::string_view endpoint, contract::FinishReason finish,
                                  const contract::RequestTimes& times) {
  const std::string outcome(contract::name(finish));
  impl_->finished.Add({{"endpoint", std::string(endpoint)}, {"outcome", outcome}}).Increment();
  impl_->record_times(times);
  Counter* success = finish == contract::FinishReason::stop     ? impl_->success_stop.load()
                     : finish == contract::FinishReason::length ? impl_->success_length.load()
                                                                : nullptr;
  if (success != nullptr) success->Increment();
}

void ServerMetrics::Impl::record_times(const contract::RequestTimes& times) {
  if (!times.first_scheduled) return;
  queue.observe(seconds_between(times.submitted, *times.first_scheduled));
  if (!times.first_token) return;
  const double ttft = seconds_between(times.submitted, *times.first_token);
  const double prefill_time = seconds_between(*times.first_scheduled, *times.first_token);
  prefill.observe(prefill_time);
  first_token.observe(ttft);
  if (times.predicted_ttft && times.predicted_ttft->count() > 0)
    prediction_error.Observe(ttft / seconds(*times.predicted_ttft));
  prompt_length.observe(static_cast<double>(times.prompt_tokens.count()));
  output_length.observe(static_cast<double>(times.output_tokens.count()));
  if (!times.finished) return;
  e2e.observe(seconds_between(times.submitted, *times.finished));
  const double decode_time = seconds_between(*times.first_token, *times.finished);
  const auto gap_count = static_cast<double>(std::max<int64_t>(0, times.output_tokens.count() - 1));
  {
    const std::lock_guard lock(sums_mutex);
    prefill_s += prefill_time;
    prefill_n += static_cast<double>((times.prompt_tokens - times.prompt_tokens_cached).count());
    decode_s += gap_count > 0 ? decode_time : 0;
    decode_n += gap_count;
  }
  if (gap_count == 0) return;
  decode.observe(decode_time);
  mean_gap.observe(decode_time / gap_count);
}

std::string ServerMetrics::render(const std::optional<contract::Bounds>& bounds) {
  const std::lock_guard lock(impl_->render_mutex);
  if (bounds) {
    impl_->show_scheduler(*bounds);
    impl_->show_attainment(*bounds);
    impl_->show_vllm(*bounds);
    impl_->show_llamacpp(*bounds);
  }
  if (exporter_ != nullptr) {
    raise(impl_->counter("takt_traces_sent_total"), static_cast<double>(exporter_->sent_count()));
    raise(impl_->counter("takt_traces_dropped_total"), static_cast<double>(exporter_->dropped_count()));
  }
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace takt::server
