// The timeline as a Chrome trace. Format: "Trace Event Format", the JSON object form; times in microseconds.
#include <array>
#include <cstdio>
#include <map>

#include "worlds/sim/timeline.h"

namespace takt::worlds {
namespace {

constexpr int kStepsProcess = 1;
constexpr int kRequestsProcess = 2;

class Events {
 public:
  template <class... Values>
  void add(const char* format, Values... values) {
    std::array<char, 400> text;
    const int length = std::snprintf(text.data(), text.size(), format, values...);
    text_ += is_first_ ? "\n" : ",\n";
    is_first_ = false;
    text_.append(text.data(), static_cast<size_t>(length));
  }
  void name_process(int process, const char* name) {
    add(R"({"ph":"M","name":"process_name","pid":%d,"args":{"name":"%s"}})", process, name);
  }
  void name_thread(int process, long long thread, const char* name) {
    add(R"({"ph":"M","name":"thread_name","pid":%d,"tid":%lld,"args":{"name":"%s"}})", process, thread, name);
  }
  // A bar of a track.
  void span(int process, long long track, const char* name, base::Micros from, base::Micros until) {
    add(R"({"ph":"X","name":"%s","pid":%d,"tid":%lld,"ts":%lld,"dur":%lld})", name, process, track,
        static_cast<long long>(from.count()), static_cast<long long>((until - from).count()));
  }
  std::string take() { return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" + std::move(text_) + "\n]}\n"; }

 private:
  std::string text_;
  bool is_first_ = true;
};

void add_step(Events& events, const TimelineStep& step, size_t number) {
  uint32_t tokens = 0;
  for (const TimelineChunk& chunk : step.chunks) tokens += chunk.end - chunk.begin;
  const char* name = tokens == 0 ? "decode" : step.decode_rows.empty() ? "prefill" : "mixed";
  events.add(R"({"ph":"X","name":"%s","pid":%d,"tid":1,"ts":%lld,"dur":%lld,)"
             R"("args":{"step":%llu,"prefill_tokens":%u,"decode_rows":%u}})",
             name, kStepsProcess, static_cast<long long>(step.began.count()),
             static_cast<long long>((step.ended - step.began).count()), static_cast<unsigned long long>(number), tokens,
             static_cast<unsigned>(step.decode_rows.size()));
  for (const TimelineChunk& chunk : step.chunks) {
    events.add(R"({"ph":"X","name":"chunk","pid":%d,"tid":%llu,"ts":%lld,"dur":%lld,)"
               R"("args":{"begin":%u,"end":%u}})",
               kRequestsProcess, static_cast<unsigned long long>(chunk.request.value),
               static_cast<long long>(step.began.count()), static_cast<long long>((step.ended - step.began).count()),
               chunk.begin, chunk.end);
  }
}

void add_request(Events& events, const RequestRecord& record) {
  const auto track = static_cast<long long>(record.id.value);
  std::array<char, 80> name;
  std::snprintf(name.data(), name.size(), "request %lld (%u in, %u out)", track, record.arrival.prompt_tokens,
                record.output_tokens);
  events.name_thread(kRequestsProcess, track, name.data());
  if (record.is_refused) {
    events.add(R"({"ph":"i","s":"t","name":"refused","pid":%d,"tid":%lld,"ts":%lld})", kRequestsProcess, track,
               static_cast<long long>(record.arrival.at.count()));
    return;
  }
  const base::Micros end = record.finished.value_or(record.last_token);
  const base::Micros scheduled = record.first_scheduled.value_or(end), token = record.first_token.value_or(end);
  events.span(kRequestsProcess, track, "queue", record.arrival.at, scheduled);
  if (record.first_scheduled) events.span(kRequestsProcess, track, "prefill", scheduled, token);
  if (record.first_token) events.span(kRequestsProcess, track, "decode", token, end);
}

// Requests that wait, prefill and decode, at each time one of these numbers changes.
void add_counters(Events& events, const std::vector<RequestRecord>& records) {
  struct Change {
    int waiting = 0, prefilling = 0, decoding = 0;
  };
  std::map<int64_t, Change> changes;
  for (const RequestRecord& record : records) {
    if (record.is_refused || !record.finished) continue;
    const int64_t end = record.finished->count();
    const int64_t scheduled = record.first_scheduled ? record.first_scheduled->count() : end;
    const int64_t token = record.first_token ? record.first_token->count() : end;
    ++changes[record.arrival.at.count()].waiting;
    --changes[scheduled].waiting;
    ++changes[scheduled].prefilling;
    --changes[token].prefilling;
    ++changes[token].decoding;
    --changes[end].decoding;
  }
  Change now;
  for (const auto& [time, change] : changes) {
    now.waiting += change.waiting;
    now.prefilling += change.prefilling;
    now.decoding += change.decoding;
    events.add(R"({"ph":"C","name":"requests","pid":%d,"ts":%lld,)"
               R"("args":{"waiting":%d,"prefilling":%d,"decoding":%d}})",
               kStepsProcess, static_cast<long long>(time), now.waiting, now.prefilling, now.decoding);
  }
}

}  // namespace

std::string to_perfetto(const Timeline& timeline) {
  Events events;
  events.name_process(kStepsProcess, "steps");
  events.name_thread(kStepsProcess, 1, "steps");
  events.name_process(kRequestsProcess, "requests");
  for (const RequestRecord& record : timeline.records) add_request(events, record);
  for (size_t i = 0; i < timeline.steps.size(); ++i) add_step(events, timeline.steps[i], i + 1);
  add_counters(events, timeline.records);
  return events.take();
}

}  // namespace takt::worlds
