#include "server/metrics/request_trace.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace takt::server {

using contract::TimePart;
using contract::TimeParts;

namespace {

// A gap is kept for about 130 bytes: 2 MB for one request.
constexpr size_t kOutputsMax = 16'384;

std::string in_ms(base::Micros micros) {
  const double ms = static_cast<double>(micros.count()) / 1e3;
  char text[32];
  std::snprintf(text, sizeof text, ms < 10 ? "%.1f ms" : "%.0f ms", ms);
  return text;
}

// "174 ms were request 9f2's prefill chunk of 512 tokens"; causes one by one, then what else took a tenth of the gap.
std::string reasons(const TokenGap& gap, const PublicId& public_id) {
  struct Reason {
    base::Micros micros;
    std::string text;
  };
  std::vector<Reason> found;
  for (const TimeParts::Cause& cause : gap.parts.causes) {
    found.push_back({cause.micros, "request " + public_id(cause.request) + "'s prefill chunk of " +
                                       std::to_string(cause.tokens) + " tokens"});
  }
  const auto add = [&](TimePart part, const char* text) { found.push_back({gap.parts[part], text}); };
  add(TimePart::own_compute, "its own computation");
  add(TimePart::other_decode, "other requests' decode rows");
  add(TimePart::queue, "waiting for its turn");
  add(TimePart::kv_wait, "waiting for KV pages");
  add(TimePart::preemption, "waiting after it gave up its KV pages");
  add(TimePart::recompute, "evaluating again what was lost so");
  add(TimePart::load, "loading the model");
  add(TimePart::sampling, "sampling");
  add(TimePart::host, "planning and delivery");
  add(TimePart::network, "waiting for the network");
  std::stable_sort(found.begin(), found.end(), [](const Reason& a, const Reason& b) { return a.micros > b.micros; });
  std::string text;
  for (const Reason& reason : found) {
    if (!text.empty() && reason.micros.count() * 10 < gap.gap.count()) break;
    text += (text.empty() ? "" : ", ") + in_ms(reason.micros) + (text.empty() ? " were " : " ") + reason.text;
  }
  return text;
}

}  // namespace

std::string_view name(RequestState state) {
  static constexpr std::string_view kNames[] = {"waiting",   "prefilling", "decoding",
                                                "preempted", "writing",    "finished"};
  return kNames[static_cast<size_t>(state)];
}

std::string_view name(RequestPhase phase) {
  static constexpr std::string_view kNames[] = {"prepare", "load", "queue", "prefill", "decode", "write"};
  return kNames[static_cast<size_t>(phase)];
}

void RequestTrace::add_output(const contract::RequestOutput& output, const contract::RequestTimes& output_times) {
  const bool is_first = times.output_tokens.count() == 0;
  if (delivered_last.count() == 0) delivered_last = output_times.submitted;
  times = output_times;
  const TimeParts parts = std::exchange(times.since_last, {});
  const base::Micros gap = parts.total();
  delivered_last += gap;
  (is_first ? prefill_parts : decode_parts).add(parts);
  if (times.first_token && finish == contract::FinishReason::none) state = RequestState::decoding;
  unshown.add(parts);
  if (!output.tokens.empty()) {
    if (!is_first) gap_max = std::max(gap_max, gap);
    outputs.push_back(
        {delivered_last, std::nullopt, static_cast<uint32_t>(output.tokens.size()), std::exchange(unshown, {})});
    if (outputs.size() > kOutputsMax) {
      ++outputs_skipped;
      tokens_skipped += outputs.front().tokens;
      outputs.pop_front();
    }
  }
  if (output.finish == contract::FinishReason::none) return;
  finish = output.finish;
  state = written_all ? RequestState::finished : RequestState::writing;
}

void RequestTrace::note_written(uint64_t tokens, base::Micros now) {
  auto end = static_cast<uint64_t>(times.output_tokens.count());
  for (auto output = outputs.rbegin(); output != outputs.rend() && end > tokens_written; ++output) {
    if (end <= tokens) output->written = now;
    end -= output->tokens;
  }
  tokens_written = std::max(tokens_written, tokens);
}

void RequestTrace::note_closed(base::Micros now) {
  if (!written_all) written_all = now;
  if (finish != contract::FinishReason::none) state = RequestState::finished;
}

base::Micros end_to_end(const RequestTrace& trace, base::Micros now) {
  base::Micros end = trace.state == RequestState::finished ? *trace.times.finished : now;
  if (trace.state == RequestState::finished && trace.written_all) end = std::max(end, *trace.written_all);
  return end - trace.facts.received;
}

std::array<base::Micros, kRequestPhaseCount> phases_of(const RequestTrace& trace, base::Micros now) {
  const contract::RequestTimes& times = trace.times;
  const base::Micros end = trace.facts.received + end_to_end(trace, now);
  const base::Micros finished = times.finished.value_or(end);
  const base::Micros scheduled = times.first_scheduled.value_or(finished);
  const base::Micros first_token = times.first_token.value_or(finished);
  const base::Micros loading = trace.prefill_parts[TimePart::load];
  return {times.submitted - trace.facts.received,
          loading,
          scheduled - times.submitted - loading,
          first_token - scheduled,
          finished - first_token,
          end - finished};
}

std::vector<TokenGap> gaps_of(const RequestTrace& trace) {
  std::vector<TokenGap> gaps;
  // When the output before was delivered, and when it was with the network.
  std::optional<base::Micros> delivered, written;
  if (trace.outputs_skipped == 0) delivered = written = trace.times.submitted;
  uint64_t token = trace.tokens_skipped;
  for (const RequestTrace::Output& output : trace.outputs) {
    const base::Micros at = output.written.value_or(output.delivered);
    if (delivered) {
      TokenGap gap{token, at, at - *written, output.parts};
      if (*written >= output.delivered) {
        gap.parts = {};
        gap.parts[TimePart::network] = gap.gap;
      } else {
        // What the loop did while the output before was still being written held up nobody.
        gap.parts.take_from_front(*written - *delivered);
        gap.parts[TimePart::network] += at - output.delivered;
      }
      gaps.push_back(std::move(gap));
    }
    token += output.tokens;
    delivered = output.delivered;
    written = at;
  }
  return gaps;
}

std::vector<std::string> words_of(const std::vector<TokenGap>& gaps, const PublicId& public_id) {
  std::vector<std::string> words;
  if (gaps.empty()) return words;
  std::vector<const TokenGap*> by_length;
  for (const TokenGap& gap : gaps)
    if (gap.token > 0) by_length.push_back(&gap);
  std::stable_sort(by_length.begin(), by_length.end(),
                   [](const TokenGap* a, const TokenGap* b) { return a->gap > b->gap; });
  const base::Micros usual = by_length.empty() ? base::Micros(0) : by_length[by_length.size() / 2]->gap;
  constexpr size_t kSentencesMax = 2;
  for (size_t i = 0; i < by_length.size() && i < kSentencesMax; ++i) {
    const TokenGap& gap = *by_length[i];
    if (i > 0 && gap.gap.count() * 2 < usual.count() * 3) break;  // as usual
    words.push_back("token " + std::to_string(gap.token) + " came " + in_ms(gap.gap) +
                    " after the one before (usually " + in_ms(usual) + "): " + reasons(gap, public_id));
  }
  if (gaps[0].token == 0)
    words.push_back("the first token came after " + in_ms(gaps[0].gap) + ": " + reasons(gaps[0], public_id));
  return words;
}

}  // namespace takt::server
