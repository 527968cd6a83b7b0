#include "server/metrics/trace_export.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <vector>

#include "base/log.h"
#include "server/http/json_writer.h"

namespace takt::server {

namespace {

constexpr size_t kTracesABatch = 64;
constexpr long kTimeoutMs = 5000;

std::string random_hex(size_t digits) {
  static std::mutex mutex;
  static std::mt19937_64 generator{(static_cast<uint64_t>(std::random_device{}()) << 32) ^ std::random_device{}()};
  const std::lock_guard lock(mutex);
  std::string out;
  uint64_t bits = 0;
  for (size_t i = 0; i < digits; ++i, bits >>= 4) {
    if (i % 16 == 0) bits = generator() | 1;  // not all zeros, which means "none"
    out += "0123456789abcdef"[bits & 15];
  }
  return out;
}

bool is_hex_id(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return std::all_of(text.begin(), text.end(), is_digit) &&
         std::any_of(text.begin(), text.end(), [](char c) { return c != '0'; });
}

void write_text(JsonWriter& json, std::string_view key, std::string_view value) {
  json.begin_object().key("key").string(key).key("value").begin_object();
  json.key("stringValue").string(value).end_object().end_object();
}

// OTLP writes 64-bit integers as strings.
void write_integer(JsonWriter& json, std::string_view key, int64_t value) {
  json.begin_object().key("key").string(key).key("value").begin_object();
  json.key("intValue").string(std::to_string(value)).end_object().end_object();
}

struct Span {
  std::string_view name;
  std::string trace_id, span_id, parent_id;
  int kind = 1;  // internal; 2: of a server
  int64_t begin_us = 0, end_us = 0;
};

void begin_span(JsonWriter& json, const Span& span) {
  json.begin_object().key("traceId").string(span.trace_id).key("spanId").string(span.span_id);
  if (!span.parent_id.empty()) json.key("parentSpanId").string(span.parent_id);
  json.key("name").string(span.name).key("kind").integer(span.kind);
  json.key("startTimeUnixNano").string(std::to_string(span.begin_us) + "000");
  json.key("endTimeUnixNano").string(std::to_string(span.end_us) + "000");
}

void write_request_attributes(JsonWriter& json, const RequestTrace& trace) {
  json.key("attributes").begin_array();
  write_text(json, "takt.request_id", trace.facts.public_id);
  write_text(json, "takt.endpoint", trace.facts.endpoint);
  write_text(json, "takt.service_class", contract::name(trace.facts.service_class));
  write_text(json, "gen_ai.response.finish_reason", contract::name(trace.finish));
  write_integer(json, "gen_ai.usage.input_tokens", trace.times.prompt_tokens.count());
  write_integer(json, "takt.cached_tokens", trace.times.prompt_tokens_cached.count());
  write_integer(json, "gen_ai.usage.output_tokens", trace.times.output_tokens.count());
  json.end_array();
  json.key("status")
      .begin_object()
      .key("code")
      .integer(trace.finish == contract::FinishReason::error ? 2 : 0)
      .end_object();
}

void write_parts(JsonWriter& json, const contract::TimeParts& parts) {
  json.key("attributes").begin_array();
  for (size_t i = 0; i < contract::kTimePartCount; ++i) {
    if (parts.micros[i].count() == 0) continue;
    const std::string key = "takt." + std::string(contract::name(static_cast<contract::TimePart>(i))) + "_us";
    write_integer(json, key, parts.micros[i].count());
  }
  json.end_array();
}

// The comma-separated elements of a JSON array, without its brackets.
std::string elements(JsonWriter& json) {
  std::string text = json.take();
  return text.substr(1, text.size() - 2);
}

size_t take_nothing(char*, size_t size, size_t count, void*) { return size * count; }

}  // namespace

std::optional<TraceParent> try_trace_parent(std::string_view header) {
  // 00-<trace id>-<span id>-<flags>
  constexpr size_t kLength = 55;
  if (header.size() < kLength || header[2] != '-' || header[35] != '-' || header[52] != '-') return std::nullopt;
  const std::string_view version = header.substr(0, 2), flags = header.substr(53, 2);
  if (version == "ff" || (version == "00" && header.size() != kLength)) return std::nullopt;
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  for (const std::string_view two : {version, flags})
    if (!std::all_of(two.begin(), two.end(), is_digit)) return std::nullopt;
  if (!is_hex_id(header.substr(3, 32)) || !is_hex_id(header.substr(36, 16))) return std::nullopt;
  const char low = flags[1];
  const int digit = low <= '9' ? low - '0' : low - 'a' + 10;
  return TraceParent{std::string(header.substr(3, 32)), std::string(header.substr(36, 16)), digit % 2 == 1};
}

std::string spans_json(const RequestTrace& trace, base::Micros now, int64_t unix_us_offset) {
  const auto parent = try_trace_parent(trace.facts.trace_parent);
  Span root{"takt.request", parent ? parent->trace_id : random_hex(32), random_hex(16), parent ? parent->span_id : "",
            2};
  root.begin_us = trace.facts.received.count() + unix_us_offset;
  root.end_us = root.begin_us + end_to_end(trace, now).count();
  JsonWriter json;
  json.begin_array();
  begin_span(json, root);
  write_request_attributes(json, trace);
  json.end_object();
  const auto phases = phases_of(trace, now);
  int64_t at = root.begin_us;
  for (size_t i = 0; i < kRequestPhaseCount; ++i) {
    const auto phase = static_cast<RequestPhase>(i);
    const int64_t begin = at;
    at += phases[i].count();
    if (phases[i].count() == 0) continue;
    begin_span(json, {name(phase), root.trace_id, random_hex(16), root.span_id, 1, begin, at});
    if (phase == RequestPhase::prefill) write_parts(json, trace.prefill_parts);
    if (phase == RequestPhase::decode) write_parts(json, trace.decode_parts);
    json.end_object();
  }
  json.end_array();
  return elements(json);
}

base::Result<std::unique_ptr<TraceExporter>> TraceExporter::create(const std::string& url) {
  const size_t scheme = url.find("://");
  const std::string name = url.substr(0, scheme == std::string::npos ? 0 : scheme);
  if (name != "http" && name != "https")
    return base::Error{base::ErrorCode::invalid_argument, "'" + url + "' is no http:// or https:// address"};
  curl_global_init(CURL_GLOBAL_DEFAULT);
  const bool has_path = url.find('/', scheme + 3) != std::string::npos;
  return std::unique_ptr<TraceExporter>(new TraceExporter(has_path ? url : url + "/v1/traces"));
}

TraceExporter::TraceExporter(std::string url) : url_(std::move(url)), thread_([this] { run(); }) {}

TraceExporter::~TraceExporter() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  event_.notify_all();
  thread_.join();
}

void TraceExporter::add(const RequestTrace& trace, base::Micros now) {
  const auto parent = try_trace_parent(trace.facts.trace_parent);
  if (parent && !parent->is_sampled) return;  // the caller wants no trace
  const auto unix_us =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  std::string spans = spans_json(trace, now, unix_us - now.count());
  const std::lock_guard lock(mutex_);
  if (queue_.size() >= kTracesQueued) {
    ++dropped_count_;
    return;
  }
  queue_.push_back(std::move(spans));
  event_.notify_all();
}

void TraceExporter::run() {
  for (;;) {
    std::vector<std::string> batch;
    {
      std::unique_lock lock(mutex_);
      event_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      while (!queue_.empty() && batch.size() < kTracesABatch) {
        batch.push_back(std::move(queue_.front()));
        queue_.pop_front();
      }
    }
    std::string body =
        R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"takt"}}]},)"
        R"("scopeSpans":[{"scope":{"name":"takt"},"spans":[)";
    for (size_t i = 0; i < batch.size(); ++i) body += (i > 0 ? "," : "") + batch[i];
    body += "]}]}]}";
    (post(body) ? sent_count_ : dropped_count_) += batch.size();
  }
}

bool TraceExporter::post(const std::string& body) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), &curl_easy_cleanup);
  if (curl == nullptr) return false;
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(
      curl_slist_append(nullptr, "Content-Type: application/json"), &curl_slist_free_all);
  curl_easy_setopt(curl.get(), CURLOPT_URL, url_.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, body.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS, kTimeoutMs);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &take_nothing);
  const CURLcode code = curl_easy_perform(curl.get());
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  const bool is_taken = code == CURLE_OK && status >= 200 && status < 300;
  if (!is_taken && dropped_count_ == 0)  // said once
    base::log(base::LogLevel::warning,
              "traces are not taken by " + url_ + ": " +
                  (code == CURLE_OK ? "status " + std::to_string(status) : curl_easy_strerror(code)));
  return is_taken;
}

}  // namespace takt::server
