#include "generation.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <random>

#include "app_options.h"
#include "bench/step_work.h"

namespace takt::apps {
namespace {

// On a terminal small models are met first, and without a penalty they like to repeat themselves. (The server's default is none.)
constexpr float kRepeatPenalty = 1.1f;
constexpr auto kInterruptPoll = std::chrono::milliseconds(50);
std::atomic<bool> is_interrupted{false};

void on_interrupt(int) { is_interrupted.store(true); }

// Takes output on the loop's thread and hands it to the thread that writes, so that a slow terminal never holds up a step.
class TerminalSink : public contract::OutputSink {
 public:
  void on_output(const contract::RequestOutput& output, const contract::RequestTimes& times) override {
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard guard(mutex_);
    for (size_t i = 0; i < output.tokens.size(); ++i) {
      if (has_token_)
        times_.gaps_us.push_back(std::chrono::duration_cast<std::chrono::microseconds>(now - last_token_).count());
      last_token_ = now;
      has_token_ = true;
    }
    pending_ += output.text;
    times_.request = times;
    times_.finish = output.finish;
    times_.error = output.error;
    changed_.notify_all();
  }

  // The text since the last call; waits up to `timeout` for some. Sets is_end at the end of the answer.
  std::string take(std::chrono::milliseconds timeout, bool& is_end) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout,
                      [this] { return !pending_.empty() || times_.finish != contract::FinishReason::none; });
    is_end = times_.finish != contract::FinishReason::none;
    return std::exchange(pending_, {});
  }

  AnswerTimes times() {
    const std::lock_guard guard(mutex_);
    return times_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string pending_;
  AnswerTimes times_;
  std::chrono::steady_clock::time_point last_token_;
  bool has_token_ = false;
};

// While an answer streams, Ctrl-C stops the answer; before and after it ends the program.
class InterruptGuard {
 public:
  InterruptGuard() : before_(std::signal(SIGINT, on_interrupt)) {}
  ~InterruptGuard() { std::signal(SIGINT, before_); }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  void (*before_)(int);
};

double per_second(int64_t count, int64_t us) {
  return us > 0 ? static_cast<double>(count) * 1e6 / static_cast<double>(us) : 0;
}

// Nearest-rank percentile of sorted values, in milliseconds.
double percentile_ms(const std::vector<int64_t>& sorted_us, double share) {
  const auto rank = static_cast<size_t>(std::max(1.0, std::ceil(share * static_cast<double>(sorted_us.size()))));
  return static_cast<double>(sorted_us[rank - 1]) / 1000;
}

// ", 27 % of the int8 ceiling (MFU)" behind a speed; empty where this machine's ceilings were never measured: a run measures nothing.
std::string share_text(double percent, const char* of_what, bool is_brief) {
  if (percent <= 0) return {};
  char text[64];
  std::snprintf(text, sizeof text, is_brief ? " (%.0f %%)" : ", %.0f %% of %s", percent, of_what);
  return text;
}

// The shares of one answer's prefill and decode, in percent; 0: not known.
struct Shares {
  double mfu = 0, mbu = 0;
};
Shares shares_of(const Session& session, const contract::RequestTimes& request, int64_t prefill_us, int64_t decode_us) {
  const auto roofline = try_load_roofline(detect_machine());
  if (!roofline) return {};
  const model::Model& model = session.model();
  const Ceilings ceilings = ceilings_of(*roofline, model.kernel_set->name, session.threads());
  const int64_t prompt = request.prompt_tokens.count(), decoded = request.output_tokens.count() - 1;
  Shares shares;
  if (prefill_us > 0)
    shares.mfu = mfu_percent(
        work_of_prefill(model, request.prompt_tokens_cached.count(), prompt, session.capacity().step_tokens_max),
        static_cast<double>(prefill_us) * 1e-6, ceilings);
  if (decode_us > 0 && decoded > 0)
    shares.mbu = mbu_percent(work_of_decode(model, prompt, decoded), static_cast<double>(decode_us) * 1e-6, ceilings);
  return shares;
}

}  // namespace

void add_sampling_options(CLI::App& app, SamplingOptions& options) {
  options.sampling.repeat_penalty = kRepeatPenalty;
  contract::Sampling& sampling = options.sampling;
  const auto finite = [](const std::string& text) {  // CLI::Range lets a not-a-number pass
    return text.find_first_of("nN") == std::string::npos ? std::string() : "expected a number, not " + text;
  };
  add_option(app, "--temperature,--temp", sampling.temperature, "0: always the most probable token")
      ->check(CLI::Range(0.0, 100.0))
      ->check(finite);
  add_option(app, "--top-k", sampling.top_k, "choose among the k most probable; 0: off");
  add_option(app, "--top-p", sampling.top_p, "choose among the most probable that together reach p; 1: off")
      ->check(CLI::Range(0.0, 1.0))
      ->check(finite);
  add_option(app, "--min-p", sampling.min_p, "drop tokens below this share of the best one's probability; 0: off")
      ->check(CLI::Range(0.0, 1.0))
      ->check(finite);
  add_option(app, "--repeat-penalty", sampling.repeat_penalty, "divide the logit of recent tokens; 1: off")
      ->check(CLI::Range(0.01, 100.0))
      ->check(finite);
  add_option(app, "--repeat-last-n", sampling.repeat_last_n, "how many recent tokens the penalties look at");
  add_option(app, "--frequency-penalty", sampling.frequency_penalty, "per earlier occurrence")
      ->check(CLI::Range(-2.0, 2.0))
      ->check(finite);
  add_option(app, "--presence-penalty", sampling.presence_penalty, "for having occurred")
      ->check(CLI::Range(-2.0, 2.0))
      ->check(finite);
  app.add_option("--seed", options.seed, "the same seed gives the same answer; drawn when absent")
      ->envname("TAKT_SEED");
  add_option(app, "--max-tokens,-n", options.output_tokens_max,
             "tokens of an answer at most; -1: to the end of the context")
      ->check(CLI::Range(-1, 1 << 30));
  app.add_option("--stop", options.stop, "end the answer before this text (may be given several times)");
}

AnswerTimes stream_answer(Session& session, const server::TextServices& text, std::vector<contract::TokenId> prompt,
                          const SamplingOptions& options) {
  is_interrupted.store(false);
  const InterruptGuard guard;
  contract::Submission submission;
  submission.request.prompt = std::make_shared<std::vector<contract::TokenId>>(std::move(prompt));
  submission.request.output_tokens_max =
      base::Tokens(options.output_tokens_max < 0 ? session.capacity().context_tokens : options.output_tokens_max);
  submission.generation.sampling = options.sampling;
  submission.generation.sampling.seed = options.seed ? *options.seed : std::random_device{}();
  auto detector = text.make_stop_detector(options.stop, false);
  if (!detector) fail(detector.error());
  submission.generation.stop_detector = std::move(detector).value();
  auto sink = std::make_shared<TerminalSink>();
  submission.sink = sink;
  auto id = session.world().submit(std::move(submission));
  if (!id) fail(id.error());
  std::string answer;
  for (bool is_end = false; !is_end;) {
    const std::string piece = sink->take(kInterruptPoll, is_end);
    answer += piece;
    std::fwrite(piece.data(), 1, piece.size(), stdout);
    std::fflush(stdout);
    if (is_interrupted.load() || std::ferror(stdout) != 0) session.world().cancel(id->id);
  }
  AnswerTimes times = sink->times();
  times.text = std::move(answer);
  return times;
}

bool was_interrupted() { return is_interrupted.load(); }

void print_times(const Session& session, const AnswerTimes& times, bool is_brief) {
  const contract::RequestTimes& request = times.request;
  if (times.finish == contract::FinishReason::length)
    std::fprintf(stderr, "%sstopped after %lld tokens, the limit (--max-tokens or the context)\n", is_brief ? "" : "\n",
                 static_cast<long long>(request.output_tokens.count()));
  const char* line_end = is_brief ? "  " : "\n";
  if (!is_brief)
    std::fprintf(stderr, "\nload     %.2f s (%s, %d threads)\n", session.load_seconds(),
                 std::string(session.model().kernel_set->name).c_str(), session.threads());
  if (!request.first_scheduled || !request.first_token) return;
  const int64_t prefill_us = (*request.first_token - *request.first_scheduled).count();
  int64_t decode_us = 0;
  for (int64_t gap : times.gaps_us) decode_us += gap;
  const Shares shares = shares_of(session, request, prefill_us, decode_us);
  std::fprintf(stderr, "prefill  %lld tokens, %.1f tokens/s%s%s", static_cast<long long>(request.prompt_tokens.count()),
               per_second(request.prompt_tokens.count(), prefill_us),
               share_text(shares.mfu, "the int8 ceiling (MFU)", is_brief).c_str(), line_end);
  std::fprintf(stderr, "TTFT     %.1f ms%s",
               static_cast<double>((*request.first_token - request.submitted).count()) / 1000,
               times.gaps_us.empty() ? "\n" : line_end);
  std::vector<int64_t> gaps = times.gaps_us;
  if (gaps.empty()) return;
  std::sort(gaps.begin(), gaps.end());
  std::fprintf(stderr, "decode   %lld tokens, %.1f tokens/s%s%s", static_cast<long long>(request.output_tokens.count()),
               per_second(static_cast<int64_t>(gaps.size()), decode_us),
               share_text(shares.mbu, "the read bandwidth (MBU)", is_brief).c_str(), line_end);
  std::fprintf(stderr, "ITL      p50 %.1f ms, p99 %.1f ms\n", percentile_ms(gaps, 0.50), percentile_ms(gaps, 0.99));
}

}  // namespace takt::apps
