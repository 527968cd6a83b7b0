#include "load/scenarios.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

namespace takt::apps {
namespace {

constexpr uint32_t kChatTokens = 40;    // prompt of a chat that is there to decode
constexpr uint32_t kChatOutput = 2000;  // more than any scenario lasts; a chat that ends begins anew
constexpr size_t kChatGapsSkipped = 2;  // the first gaps of a chat still see the others' prompts
constexpr base::Micros kAfterwards = base::Micros(1'000'000);  // so that the gap in which it came ends

double ms(base::Micros time) { return static_cast<double>(time.count()) / 1e3; }
double seconds(base::Micros time) { return static_cast<double>(time.count()) / 1e6; }

// One request after another thing has ended, with its reply.
Reply ask(LoadSession& session, LoadRequest request) {
  Reply reply;
  session.client.send(std::move(request), session.client.now(), [&reply](const Reply& seen) { reply = seen; });
  session.client.run();
  return reply;
}

base::Error failed(const std::string& what, const Reply& reply) {
  return {base::ErrorCode::io,
          what + ": " + (reply.error_kind.empty() ? "no token" : reply.error_kind + ", " + reply.error)};
}

// Chats that decode until they are stopped.
class Chats {
 public:
  Chats(LoadSession& session, uint32_t count) : session_(session), chats_(count) {
    for (size_t i = 0; i < count; ++i) begin(i);
  }

  // Calls once when every chat has decoded for a while.
  void when_settled(double settle_s, std::function<void()> call) {
    settle_ = base::Micros(static_cast<int64_t>(settle_s * 1e6));
    on_settled_ = std::move(call);
  }

  void stop() {
    is_stopped_ = true;
    on_settled_ = nullptr;
    for (const Chat& chat : chats_) session_.client.cancel(chat.id);
  }

  // Milliseconds per token of the gaps that ended before a time. Of each chat, the first gaps are left out.
  std::vector<WeightedValue> gaps_before(base::Micros until) const { return gaps(base::Micros(), until, until); }
  // Of the gaps that had a part in a time: also the one that a step began which ended with the long prompt's first token.
  std::vector<WeightedValue> gaps_during(base::Micros from, base::Micros until) const {
    return gaps(from, until, base::Micros(std::numeric_limits<int64_t>::max()));
  }

 private:
  std::vector<WeightedValue> gaps(base::Micros from, base::Micros begins_until, base::Micros ends_until) const {
    std::vector<WeightedValue> values;
    for (const Reply& reply : replies_) {
      const auto all = token_gaps(reply);
      for (size_t i = kChatGapsSkipped; i < all.size(); ++i)
        if (all[i].at >= from && begin_of(all[i]) <= begins_until && all[i].at <= ends_until)
          values.push_back({all[i].us_per_token / 1e3, all[i].tokens});
    }
    return values;
  }
  static base::Micros begin_of(const TokenGap& gap) {
    return gap.at - base::Micros(std::llround(gap.us_per_token * gap.tokens));
  }

 public:
  uint64_t failures() const { return failures_; }
  std::string failure() const { return failure_; }

 private:
  struct Chat {
    uint64_t id = 0;
    std::optional<base::Micros> first_token;
  };

  void begin(size_t index) {
    Chat& chat = chats_[index];
    const LoadRequest request{{session_.prompt(kChatTokens)}, kChatOutput, "interactive"};
    chat.id = session_.client.send(
        request, session_.client.now(), [this, index](const Reply& reply) { take(index, reply); },
        [this, index](const Reply& reply) { look(index, reply); });
  }

  void look(size_t index, const Reply& reply) {
    if (!chats_[index].first_token) chats_[index].first_token = reply.chunks.front().at;
    for (const Chat& chat : chats_)
      if (!chat.first_token) return;
    if (!std::exchange(is_counting_, true))
      session_.client.call_at(session_.client.now() + settle_, [this] { settled(); });
  }

  // Once, and not when all is over already.
  void settled() {
    if (on_settled_) std::exchange(on_settled_, nullptr)();
  }

  void take(size_t index, const Reply& reply) {
    replies_.push_back(reply);
    if (is_stopped_) return;
    if (!reply.error_kind.empty()) {
      ++failures_;
      failure_ = reply.error_kind + ", " + reply.error;
      settled();  // do not wait for what will not come
      return;
    }
    begin(index);
  }

  LoadSession& session_;
  std::vector<Chat> chats_;
  std::vector<Reply> replies_;
  base::Micros settle_;
  std::function<void()> on_settled_;
  uint64_t failures_ = 0;
  std::string failure_;
  bool is_counting_ = false, is_stopped_ = false;
};

void add_gaps(Figures& figures, const std::string& name, const Distribution& gaps) {
  figures.emplace_back(name + "_ms_p50", gaps.p50);
  figures.emplace_back(name + "_ms_p99", gaps.p99);
  figures.emplace_back(name + "_ms_max", gaps.max);
  figures.emplace_back(name + "_tokens", gaps.weight);
}

base::Result<Figures> interference(const ScenarioSpec& spec, LoadSession& session) {
  const uint32_t tokens = spec.long_tokens > 0 ? spec.long_tokens : 3000;
  const Reply alone = ask(session, {{session.prompt(tokens)}, 2, "interactive"});
  if (!alone.is_answered()) return failed("the long prompt alone", alone);
  Chats chats(session, spec.streams);
  Reply beside;
  base::Micros from, until;
  chats.when_settled(spec.settle_s, [&] {
    from = session.client.now();
    const auto end = [&](const Reply& reply) {
      beside = reply;
      session.client.call_at(session.client.now() + kAfterwards, [&] { chats.stop(); });
    };
    session.client.send({{session.prompt(tokens)}, 2, "interactive"}, from, end);
  });
  session.client.run();
  if (chats.failures() > 0) return base::Error{base::ErrorCode::io, "a chat failed: " + chats.failure()};
  if (!beside.is_answered()) return failed("the long prompt beside the chats", beside);
  until = beside.chunks.front().at;
  const Distribution before = distribution_of(chats.gaps_before(from));
  const Distribution during = distribution_of(chats.gaps_during(from, until));
  Figures figures{{"long_prompt_tokens", static_cast<double>(beside.prompt_tokens.value_or(0))}};
  add_gaps(figures, "gap_before", before);
  add_gaps(figures, "gap_during", during);
  figures.emplace_back("gap_during_p99_in_g", during.p99 / before.p50);
  figures.emplace_back("gap_during_max_in_g", during.max / before.p50);
  figures.emplace_back("long_alone_s", seconds(*ttft(alone)));
  figures.emplace_back("long_beside_s", seconds(*ttft(beside)));
  figures.emplace_back("long_ratio", seconds(*ttft(beside)) / seconds(*ttft(alone)));
  figures.emplace_back("decode_tokens_per_s_during", during.weight / seconds(until - from));
  return figures;
}

// Short prompts at once; the long one a moment before, so that it is there first.
struct BurstRun {
  std::optional<Reply> long_one;
  std::vector<LoadRecord> shorts;
};

BurstRun run_burst(LoadSession& session, uint32_t long_tokens, uint32_t count) {
  constexpr uint32_t kShortTokens = 100, kOutput = 8;
  constexpr base::Micros kBehind = base::Micros(200'000);
  BurstRun run;
  const base::Micros begin = session.client.now() + base::Micros(50'000);
  if (long_tokens > 0)
    session.client.send({{session.prompt(long_tokens)}, kOutput, "interactive"}, begin,
                        [&run](const Reply& reply) { run.long_one = reply; });
  for (uint32_t i = 0; i < count; ++i)
    session.client.send({{session.prompt(kShortTokens)}, kOutput, "interactive"}, begin + kBehind,
                        [&run](const Reply& reply) {
                          run.shorts.push_back({reply, kShortTokens, kOutput});
                        });
  session.client.run();
  return run;
}

base::Result<Figures> burst(const ScenarioSpec& spec, LoadSession& session) {
  const uint32_t tokens = spec.long_tokens > 0 ? spec.long_tokens : 6000;
  const uint32_t count = spec.count > 0 ? spec.count : 32;
  const Reply alone = ask(session, {{session.prompt(tokens)}, 8, "interactive"});
  if (!alone.is_answered()) return failed("the long prompt alone", alone);
  const BurstRun without = run_burst(session, 0, count), with = run_burst(session, tokens, count);
  if (!with.long_one->is_answered()) return failed("the long prompt before the short ones", *with.long_one);
  const LoadSummary quiet = summarise(without.shorts, {}), crowded = summarise(with.shorts, {});
  for (const LoadSummary* summary : {&quiet, &crowded})
    if (summary->answered < count)
      return base::Error{base::ErrorCode::io, std::to_string(count - summary->answered) +
                                                  " short requests failed: " + summary->error_example.begin()->second};
  return Figures{{"short_requests", count},
                 {"short_alone_ttft_ms_p50", quiet.ttft.p50},
                 {"short_alone_ttft_ms_p99", quiet.ttft.p99},
                 {"short_behind_ttft_ms_p50", crowded.ttft.p50},
                 {"short_behind_ttft_ms_p99", crowded.ttft.p99},
                 {"short_p99_ratio", crowded.ttft.p99 / quiet.ttft.p99},
                 {"long_prompt_tokens", static_cast<double>(alone.prompt_tokens.value_or(0))},
                 {"long_alone_s", seconds(*ttft(alone))},
                 {"long_before_s", seconds(*ttft(*with.long_one))},
                 {"long_ratio", seconds(*ttft(*with.long_one)) / seconds(*ttft(alone))}};
}

base::Result<Figures> second_turn(const ScenarioSpec& spec, LoadSession& session) {
  const uint32_t tokens = spec.long_tokens > 0 ? spec.long_tokens : 3000;
  LoadRequest request{{session.prompt(tokens)}, 16, "interactive"};
  const Reply first = ask(session, request);
  if (!first.is_answered()) return failed("the first turn", first);
  request.messages.push_back(first.text);
  request.messages.push_back(' ' + session.text.fresh(8));
  const Reply second = ask(session, request);
  if (!second.is_answered()) return failed("the second turn", second);
  return Figures{{"first_prompt_tokens", static_cast<double>(first.prompt_tokens.value_or(0))},
                 {"second_prompt_tokens", static_cast<double>(second.prompt_tokens.value_or(0))},
                 {"second_cached_tokens", static_cast<double>(second.cached_tokens.value_or(0))},
                 {"first_ttft_ms", ms(*ttft(first))},
                 {"second_ttft_ms", ms(*ttft(second))},
                 {"ratio", ms(*ttft(second)) / ms(*ttft(first))}};
}

base::Result<Figures> background(const ScenarioSpec& spec, LoadSession& session) {
  constexpr uint32_t kPrompt = 200, kOutput = 32;
  const uint32_t count = spec.count > 0 ? spec.count : 64;
  Chats chats(session, spec.streams);
  std::vector<LoadRecord> job;
  base::Micros from, until;
  chats.when_settled(spec.settle_s, [&] {
    from = session.client.now();
    for (uint32_t i = 0; i < count; ++i)
      session.client.send({{session.prompt(kPrompt)}, kOutput, "background"}, from, [&](const Reply& reply) {
        job.push_back({reply, kPrompt, kOutput});
        session.progress(static_cast<int64_t>(job.size()), count);
        if (job.size() < count) return;
        until = session.client.now();
        chats.stop();
      });
  });
  session.client.run();
  if (chats.failures() > 0) return base::Error{base::ErrorCode::io, "a chat failed: " + chats.failure()};
  const LoadSummary summary = summarise(job, {});
  if (summary.answered < count)
    return base::Error{base::ErrorCode::io, std::to_string(count - summary.answered) + " background requests failed: " +
                                                summary.error_example.begin()->second};
  Figures figures{{"background_requests", count}};
  add_gaps(figures, "gap_before", distribution_of(chats.gaps_before(from)));
  const Distribution during = distribution_of(chats.gaps_during(from, until));
  add_gaps(figures, "gap_during", during);
  figures.emplace_back("background_s", seconds(until - from));
  figures.emplace_back("background_tokens_per_s",
                       static_cast<double>(summary.prompt_tokens + summary.output_tokens) / seconds(until - from));
  figures.emplace_back("chat_tokens_per_s_during", during.weight / seconds(until - from));
  return figures;
}

}  // namespace

base::Result<Figures> run_scenario(const std::string& name, const ScenarioSpec& spec, LoadSession& session) {
  if (name == "interference") return interference(spec, session);
  if (name == "burst") return burst(spec, session);
  if (name == "second-turn") return second_turn(spec, session);
  if (name == "background") return background(spec, session);
  return base::Error{base::ErrorCode::not_found, "there is no scenario '" + name + "'"};
}

void apply_goodput_preset(LoadSpec& spec, std::string& prompt, std::string& output, std::string& slo) {
  spec.process = LoadProcess::poisson;
  prompt = "lognormal:200.3:1.0:16:3000";
  output = "lognormal:54.6:0.7:8:200";
  if (slo.empty()) slo = "ttft=3s,itl=150ms,gap=1s";
}

}  // namespace takt::apps
