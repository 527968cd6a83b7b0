#include "server/metrics/live_json.h"

#include <algorithm>

namespace takt::server {

using contract::FinishReason;

namespace {

double seconds(base::Micros micros) { return static_cast<double>(micros.count()) / 1e6; }

std::string text(std::string_view bytes) { return replace_invalid_utf8(bytes); }

void write_limit(JsonWriter& json, std::string_view key, std::optional<base::Micros> limit) {
  json.key(key);
  limit ? json.integer(limit->count()) : json.null();
}

void write_model(JsonWriter& json, const LiveModel& model) {
  const contract::ModelShape& shape = model.shape;
  json.begin_object().key("name").string(text(model.name)).key("architecture").string(text(shape.architecture));
  json.key("context_tokens").unsigned_integer(model.context_tokens);
  json.key("layer_count").unsigned_integer(shape.layer_count);
  json.key("embedding_length").unsigned_integer(shape.embedding_length);
  json.key("vocabulary_size").unsigned_integer(shape.vocabulary_size);
  json.key("weight_bytes").integer(shape.weight_bytes.count());
  json.key("kv_bytes_per_token").integer(shape.kv_bytes_per_token.count());
  json.key("page_tokens").unsigned_integer(shape.page_tokens);
  json.key("numerics_version").string(text(shape.numerics_version)).end_object();
}

void write_facts(JsonWriter& json, const LiveFacts& facts) {
  json.key("kv_pages_total").unsigned_integer(facts.capacity.page_count);
  json.key("rows_max").unsigned_integer(facts.capacity.rows_max);
  json.key("chunk_tokens_max").unsigned_integer(facts.capacity.step_tokens_max);
  json.key("step_us_max").integer(facts.policy.step_us_max.count());
  json.key("classes").begin_array();
  for (const contract::ServiceClass service_class : contract::kServiceClasses) {
    const contract::ClassLimits& limits = facts.policy.of(service_class);
    json.begin_object().key("name").string(contract::name(service_class));
    write_limit(json, "ttft_us_max", limits.ttft_max);
    write_limit(json, "itl_us_max", limits.itl_max);
    json.key("rows_reserved").unsigned_integer(limits.decode_rows_reserved).end_object();
  }
  json.end_array().key("machine");
  if (facts.machine) {
    json.begin_object().key("flops_per_s").number(facts.machine->flops_per_s);
    json.key("bytes_per_s").number(facts.machine->bytes_per_s).end_object();
  } else {
    json.null();
  }
  json.key("rows_curve");
  if (facts.rows_curve.empty()) {
    json.null();
  } else {
    json.begin_array();
    for (const RowsSpeed& point : facts.rows_curve) {
      json.begin_object().key("rows").unsigned_integer(point.rows);
      json.key("tokens_per_s").number(point.tokens_per_s).end_object();
    }
    json.end_array();
  }
  json.key("load_us").begin_object();
  for (const auto& [name, micros] : facts.load_times) json.key(name).integer(micros.count());
  json.end_object();
}

void write_quantiles(JsonWriter& json, std::string_view key, const Quantiles& quantiles) {
  json.key(key).begin_object().key("count").unsigned_integer(quantiles.count);
  const auto write = [&](std::string_view name, base::Micros value) {
    json.key(name);
    quantiles.count > 0 ? json.integer(value.count()) : json.null();
  };
  write("p50", quantiles.p50);
  write("p95", quantiles.p95);
  write("p99", quantiles.p99);
  json.end_object();
}

// Products of the matrices only: two operations for each weight and row, against what the machine could have done in that time.
void write_utilization(JsonWriter& json, const LiveRates& rates, const LiveModel* model) {
  const auto write = [&](std::string_view key, double done, double ceiling, base::Micros time) {
    json.key(key);
    ceiling > 0 && time.count() > 0 ? json.number(done / (ceiling * seconds(time))) : json.null();
  };
  const MachineCeilings machine = model != nullptr && model->facts.machine ? *model->facts.machine : MachineCeilings{};
  const contract::ModelShape shape = model != nullptr ? model->shape : contract::ModelShape{};
  const double flops = 2.0 * static_cast<double>(shape.weights_linear) * static_cast<double>(rates.prefill_rows);
  const double bytes =
      static_cast<double>(shape.weight_bytes.count()) * static_cast<double>(rates.decode_steps) +
      static_cast<double>(shape.kv_bytes_per_token.count()) * static_cast<double>(rates.decode_positions);
  json.key("machine").begin_object();
  write("mfu", flops, machine.flops_per_s, rates.prefill_time);
  write("mbu", bytes, machine.bytes_per_s, rates.decode_time);
  json.end_object();
}

void write_classes(JsonWriter& json, const LiveSnapshot& snapshot, const contract::Bounds& bounds) {
  json.key("classes").begin_object();
  for (const contract::ServiceClass service_class : contract::kServiceClasses) {
    const auto index = static_cast<size_t>(service_class);
    const contract::ClassAttainment& counted = bounds.attainment[index];
    const ClassRecord& record = snapshot.classes[index];
    json.key(contract::name(service_class)).begin_object();
    json.key("first_tokens").unsigned_integer(counted.first_tokens);
    json.key("first_tokens_late").unsigned_integer(counted.first_tokens_late);
    json.key("gaps").unsigned_integer(counted.gaps).key("gaps_late").unsigned_integer(counted.gaps_late);
    json.key("attainment");
    record.finished > 0 ? json.number(static_cast<double>(record.kept) / static_cast<double>(record.finished))
                        : json.null();
    json.key("goodput_per_s").number(static_cast<double>(record.kept) / seconds(kLatencyWindow));
    json.key("broken");
    if (record.ttft_broken + record.itl_broken == 0) {
      json.null();
    } else {
      json.string(record.ttft_broken > record.itl_broken ? "ttft" : "itl");
    }
    json.end_object();
  }
  json.end_object();
}

// What keeps waiting work waiting.
std::string_view limited_by(const LiveSnapshot& snapshot, const contract::Bounds& bounds, const LiveModel* model) {
  if (bounds.waiting_tokens.count() == 0 || model == nullptr) return "nothing";
  if (bounds.waiting_requests > 0 && !snapshot.steps.empty() && snapshot.steps.back().is_short_of_pages)
    return "kv_pages";
  const contract::Capacity& capacity = model->facts.capacity;
  if (bounds.waiting_requests > 0 && bounds.prefilling_requests + bounds.decoding_requests >= capacity.rows_max)
    return "rows";
  if (bounds.decoding_requests > 0 && bounds.chunk_tokens > 0 && bounds.chunk_tokens < capacity.step_tokens_max / 2)
    return "decode_gap";
  return "compute";
}

void write_queue(JsonWriter& json, const LiveSnapshot& snapshot, const contract::Bounds& bounds,
                 const LiveModel* model) {
  const contract::Capacity capacity = model != nullptr ? model->facts.capacity : contract::Capacity{};
  json.key("queue").begin_object();
  for (const contract::ServiceClass service_class : contract::kServiceClasses)
    json.key(contract::name(service_class)).unsigned_integer(snapshot.waiting[static_cast<size_t>(service_class)]);
  json.end_object();
  json.key("rows").begin_object().key("waiting").unsigned_integer(bounds.waiting_requests);
  json.key("prefilling").unsigned_integer(bounds.prefilling_requests);
  json.key("decoding").unsigned_integer(bounds.decoding_requests);
  json.key("max").unsigned_integer(model != nullptr ? capacity.rows_max : 0).end_object();
  json.key("prefill_queue_tokens").integer(bounds.waiting_tokens.count());
  json.key("chunk").begin_object().key("tokens").unsigned_integer(bounds.chunk_tokens);
  json.key("target_us").integer(bounds.step_us_target.count());
  const base::Micros took =
      snapshot.last_mixed ? snapshot.last_mixed->end - snapshot.last_mixed->begin : base::Micros(0);
  json.key("took_us").integer(took.count());
  json.key("margin").number(bounds.margin_thousandths / 1e3).end_object();
  json.key("kv").begin_object().key("used").unsigned_integer(bounds.pages_used);
  json.key("cached").unsigned_integer(bounds.pages_cached).key("free").unsigned_integer(bounds.pages_free);
  json.key("total").unsigned_integer(bounds.pages_used + bounds.pages_free).end_object();
  json.key("prefix").begin_object().key("asked_tokens").unsigned_integer(bounds.prefix_tokens_asked);
  json.key("hit_tokens").unsigned_integer(bounds.prefix_tokens_hit);
  json.key("evicted_pages").unsigned_integer(bounds.prefix_pages_evicted).end_object();
}

void write_rates(JsonWriter& json, const TickState& tick, const LiveSnapshot& snapshot,
                 const contract::Bounds& bounds) {
  const LiveRates& rates = snapshot.rates;
  json.key("rates").begin_object().key("window_us").integer(kRateWindow.count());
  json.key("prompt_tokens_per_s").number(rates.prompt_tokens_per_s);
  json.key("output_tokens_per_s").number(rates.output_tokens_per_s);
  json.key("steps_per_s").number(rates.steps_per_s).key("busy").number(rates.busy).end_object();
  const LiveTotals& totals = snapshot.totals;
  json.key("totals").begin_object().key("prompt_tokens").unsigned_integer(totals.prompt_tokens);
  json.key("cached_tokens").unsigned_integer(totals.cached_tokens);
  json.key("output_tokens").unsigned_integer(totals.output_tokens);
  json.key("steps").unsigned_integer(totals.steps).key("requests").unsigned_integer(totals.requests);
  json.key("preemptions").unsigned_integer(bounds.preemptions);
  json.key("bound_violations").unsigned_integer(bounds.bound_violations);
  json.key("refused").unsigned_integer(tick.refused).end_object();
}

std::string id_in(const LiveSnapshot& snapshot, contract::RequestId id) {
  const auto found = snapshot.names.find(id);
  return found != snapshot.names.end() && !found->second.empty() ? found->second : "number " + std::to_string(id.value);
}

void write_step(JsonWriter& json, const contract::StepRecord& step, const LiveSnapshot& snapshot) {
  json.begin_object().key("id").unsigned_integer(step.step).key("start_us").integer(step.begin.count());
  json.key("duration_us").integer((step.end - step.begin).count());
  json.key("expected_us").integer(step.expected.count()).key("sampling_us").integer(step.sampling.count());
  json.key("prefill").begin_array();
  for (const contract::StepRecord::Chunk& chunk : step.prefill_chunks) {
    json.begin_object().key("request").string(id_in(snapshot, chunk.request));
    json.key("tokens").unsigned_integer(chunk.tokens).key("begin").unsigned_integer(chunk.begin).end_object();
  }
  json.end_array().key("decode").begin_array();
  for (const contract::RequestId id : step.decode_rows) json.string(id_in(snapshot, id));
  json.end_array().end_object();
}

void write_head(JsonWriter& json, const RequestTrace& trace) {
  json.key("id").string(trace.facts.public_id);
  json.key("class").string(contract::name(trace.facts.service_class));
  json.key("state").string(name(trace.state)).key("finish");
  trace.finish == FinishReason::none ? json.null() : json.string(contract::name(trace.finish));
  json.key("endpoint").string(trace.facts.endpoint);
  json.key("received_us").integer(trace.facts.received.count());
  json.key("prompt_tokens").integer(trace.times.prompt_tokens.count());
  json.key("cached_tokens").integer(trace.times.prompt_tokens_cached.count());
  json.key("prompt_done").unsigned_integer(trace.prompt_tokens_done);
  json.key("output_tokens").integer(trace.times.output_tokens.count());
}

void write_phases(JsonWriter& json, const RequestTrace& trace, base::Micros now) {
  const auto phases = phases_of(trace, now);
  json.key("phases_us").begin_object();
  for (size_t i = 0; i < kRequestPhaseCount; ++i)
    json.key(name(static_cast<RequestPhase>(i))).integer(phases[i].count());
  json.end_object();
}

void write_parts(JsonWriter& json, std::string_view key, const contract::TimeParts& parts) {
  json.key(key).begin_object();
  for (size_t i = 0; i < contract::kTimePartCount; ++i) {
    if (parts.micros[i].count() == 0) continue;
    json.key(contract::name(static_cast<contract::TimePart>(i))).integer(parts.micros[i].count());
  }
  json.end_object();
}

void write_gap(JsonWriter& json, const TokenGap& gap, const PublicId& public_id) {
  json.begin_object().key("token").unsigned_integer(gap.token).key("at_us").integer(gap.at.count());
  json.key("gap_us").integer(gap.gap.count());
  write_parts(json, "parts", gap.parts);
  json.key("caused_by").begin_object();
  for (const contract::TimeParts::Cause& cause : gap.parts.causes)
    if (cause.micros.count() > 0) json.key(public_id(cause.request)).integer(cause.micros.count());
  json.end_object().end_object();
}

void write_summary(JsonWriter& json, const RequestTrace& trace, base::Micros now) {
  write_head(json, trace);
  json.key("end_to_end_us").integer(end_to_end(trace, now).count());
  write_phases(json, trace, now);
  json.key("ttft_us");
  trace.times.first_token ? json.integer((*trace.times.first_token - trace.times.submitted).count()) : json.null();
  json.key("itl_us_max");
  trace.times.output_tokens.count() > 1 ? json.integer(trace.gap_max.count()) : json.null();
}

}  // namespace

std::string hello_json(const LiveModel* model, int64_t started_unix_ms, base::Micros now) {
  JsonWriter json;
  json.begin_object().key("version").string(TAKT_VERSION).key("started_unix_ms").integer(started_unix_ms);
  json.key("now_us").integer(now.count()).key("tick_ms").integer(kLiveTickMs).key("model");
  if (model != nullptr) {
    write_model(json, *model);
    write_facts(json, model->facts);
  } else {
    json.null();
    for (const char* key : {"kv_pages_total", "rows_max", "chunk_tokens_max", "step_us_max", "classes", "machine",
                            "rows_curve", "load_us"})
      json.key(key).null();
  }
  json.key("rings").begin_object().key("steps").unsigned_integer(kStepsKept);
  json.key("requests").unsigned_integer(kRequestsKept).key("gaps").unsigned_integer(kGapsKept).end_object();
  json.end_object();
  return json.take();
}

std::string tick_json(const TickState& tick, const LiveSnapshot& snapshot) {
  const contract::Bounds bounds = tick.bounds.value_or(contract::Bounds{});
  JsonWriter json;
  json.begin_object().key("seq").unsigned_integer(tick.seq).key("now_us").integer(tick.now.count());
  json.key("state").string(tick.state);
  write_rates(json, tick, snapshot, bounds);
  write_queue(json, snapshot, bounds, tick.model);
  json.key("latency").begin_object().key("window_us").integer(kLatencyWindow.count());
  write_quantiles(json, "ttft_us", snapshot.ttft);
  write_quantiles(json, "itl_us", snapshot.itl);
  json.end_object();
  write_utilization(json, snapshot.rates, tick.model);
  write_classes(json, snapshot, bounds);
  json.key("limited_by").string(limited_by(snapshot, bounds, tick.model));
  json.key("bounds").begin_object().key("gap_us_max").integer(bounds.gap_max.count());
  json.key("prompt_wait_us_max").integer(bounds.prompt_wait_max.count()).end_object();
  json.key("steps").begin_array();
  for (const contract::StepRecord& step : snapshot.steps) write_step(json, step, snapshot);
  json.end_array().key("steps_skipped").unsigned_integer(snapshot.steps_skipped);
  json.key("requests").begin_array();
  for (const RequestTrace& trace : snapshot.requests) {
    if (trace.facts.public_id.empty()) continue;  // it comes with the next tick, under its name
    json.begin_object();
    write_head(json, trace);
    write_phases(json, trace, tick.now);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

std::string requests_json(const std::vector<RequestTrace>& traces, base::Micros now) {
  JsonWriter json;
  json.begin_object().key("limit").unsigned_integer(kRequestsKept).key("gaps_limit").unsigned_integer(kGapsKept);
  json.key("requests").begin_array();
  for (const RequestTrace& trace : traces) {
    if (trace.facts.public_id.empty()) continue;
    json.begin_object();
    write_summary(json, trace, now);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

std::string request_json(const RequestTrace& trace, base::Micros now, const PublicId& public_id) {
  const std::vector<TokenGap> gaps = gaps_of(trace);
  const TokenGap* longest = nullptr;
  for (const TokenGap& gap : gaps)
    if (gap.token > 0 && (longest == nullptr || gap.gap > longest->gap)) longest = &gap;
  JsonWriter json;
  json.begin_object();
  write_summary(json, trace, now);
  json.key("late_token");
  longest != nullptr ? json.unsigned_integer(longest->token) : json.null();
  json.key("first_token");
  const bool has_first = !gaps.empty() && gaps[0].token == 0;
  has_first ? write_gap(json, gaps[0], public_id) : static_cast<void>(json.null());
  json.key("gaps").begin_array();
  for (size_t i = has_first ? 1 : 0; i < gaps.size(); ++i) write_gap(json, gaps[i], public_id);
  json.end_array().key("gaps_skipped").unsigned_integer(trace.outputs_skipped);
  json.key("words").begin_array();
  for (const std::string& sentence : words_of(gaps, public_id)) json.string(sentence);
  json.end_array().end_object();
  return json.take();
}

void write_phase_fields(JsonWriter& json, const RequestTrace& trace, base::Micros now) {
  json.key("end_to_end_us").integer(end_to_end(trace, now).count());
  write_phases(json, trace, now);
  write_parts(json, "prefill_parts_us", trace.prefill_parts);
  write_parts(json, "decode_parts_us", trace.decode_parts);
}

}  // namespace takt::server
