// `takt serve`: the HTTP server.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "app_options.h"
#include "base/log.h"
#include "bench/roofline.h"
#include "commands.h"
#include "kernels/kernel_set.h"
#include "log_sink.h"
#include "policy_options.h"
#include "server/server.h"
#include "session.h"
#include "text_model.h"

namespace takt::apps {
namespace {

constexpr auto kDrainGrace = std::chrono::seconds(30);

struct ServeOptions {
  SessionOptions session;
  server::ServerOptions server;
  std::string alias;
  std::string log_level = "info", log_format = "text";
  PolicyOptions policy;
  std::string api_key_file;
};

void say(base::LogLevel level, const char* format, auto... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  base::log(level, text);
}

// Blocked in every thread of the process, and taken by sigwait() in the main one.
sigset_t stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

std::string status_line(const server::ServerSummary& now) {
  char text[160];
  std::snprintf(text, sizeof text, "queue %u | prefill %.0f tok/s | decode %.0f tok/s | ITL p99 %.0f ms", now.waiting,
                now.prompt_tokens_per_s, now.output_tokens_per_s, static_cast<double>(now.itl_p99.count()) / 1e3);
  return text;
}

// Waits for a signal to stop. Meanwhile says what the load means whenever that has changed by a quarter, but not more often than
// every five seconds, and whenever a promise was broken.
int wait_and_report(const sigset_t& signals, Session& session, const server::HttpServer& server) {
  constexpr int kReportSeconds = 5;
  const timespec interval{can_show_status() ? 1 : kReportSeconds, 0};
  int seconds = 0;
  contract::Bounds said;
  const auto has_changed = [](base::Micros before, base::Micros now) {
    return 4 * std::abs((now - before).count()) > before.count() && (now - before).count() != 0;
  };
  for (;;) {
    const int signal = sigtimedwait(&signals, nullptr, &interval);
    if (signal > 0) {
      show_status("");
      return signal;
    }
    if (can_show_status()) show_status(status_line(server.summary()));
    seconds += static_cast<int>(interval.tv_sec);
    if (seconds % kReportSeconds != 0) continue;
    const contract::Bounds bounds = session.world().bounds();
    if (has_changed(said.gap_max, bounds.gap_max) || has_changed(said.prompt_wait_max, bounds.prompt_wait_max)) {
      say(base::LogLevel::info,
          "bounds: longest gap %.0f ms with %u decoding, longest wait of a prompt %.0f ms with %lld tokens queued",
          static_cast<double>(bounds.gap_max.count()) / 1e3, bounds.decoding_requests,
          static_cast<double>(bounds.prompt_wait_max.count()) / 1e3,
          static_cast<long long>(bounds.waiting_tokens.count()));
    }
    if (bounds.bound_violations > said.bound_violations && bounds.last_violation) {
      const contract::BoundViolation& last = *bounds.last_violation;
      say(base::LogLevel::warning,
          "bound broken %llu times; last in step %llu: %.0f ms, promised %.0f, expected %.0f, with %u prompt tokens "
          "and %u decode rows",
          static_cast<unsigned long long>(bounds.bound_violations - said.bound_violations),
          static_cast<unsigned long long>(last.step), static_cast<double>(last.actual.count()) / 1e3,
          static_cast<double>(last.bound.count()) / 1e3, static_cast<double>(last.predicted.count()) / 1e3,
          last.prefill_tokens, last.decode_rows);
    }
    said = bounds;
  }
}

server::LiveFacts facts_of(const Session& session, const SessionOptions& options) {
  server::LiveFacts facts;
  facts.capacity = session.capacity();
  facts.policy = options.policy;
  if (const auto roofline = try_load_roofline(detect_machine())) {
    const Ceilings ceilings = ceilings_of(*roofline, session.model().kernel_set->name, session.threads());
    facts.machine = server::MachineCeilings{ceilings.int8_per_s, ceilings.read_bytes_per_s};
  }
  facts.load_times = session.load_times();
  return facts;
}

server::ApiKeys read_keys(const std::string& path) {
  std::ifstream in(path);
  if (!in) fail("--api-key-file " + path + ": cannot be read");
  auto keys = server::ApiKeys::read(in);
  if (!keys) fail("--api-key-file " + path + ": " + keys.error().message);
  if (keys->empty()) fail("--api-key-file " + path + ": has no key");
  return std::move(keys).value();
}

void serve(ServeOptions options) {
  auto policy = read_policy(options.policy);
  if (!policy) fail(policy.error());
  options.session.policy = *policy;
  if (!options.api_key_file.empty()) options.server.keys = read_keys(options.api_key_file);
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  start_log(options.log_level, options.log_format == "json" ? LogFormat::json : LogFormat::text);
  auto server = server::HttpServer::start(options.server);
  if (!server) fail(server.error());
  say(base::LogLevel::info, "listening on http://%s:%u, loading %s", options.server.host.c_str(), (*server)->port(),
      options.session.model.c_str());
  Session session(options.session);
  const TextModel text = load_text_model(session);
  server::ServedModel served;
  served.name = options.alias.empty() ? session.model().shape.name : options.alias;
  served.shape = session.model().shape;
  served.context_tokens = session.capacity().context_tokens;
  served.port = &session.world();
  served.text = text.services;
  served.facts = facts_of(session, options.session);
  (*server)->serve(std::move(served));
  say(base::LogLevel::info, "ready: %s in %.2f s, %s kernels, %d threads, context %u, KV memory for %llu tokens in %s",
      session.model().shape.name.c_str(), session.load_seconds(), std::string(session.model().kernel_set->name).c_str(),
      session.threads(), session.capacity().context_tokens,
      static_cast<unsigned long long>(session.capacity().page_count) * session.capacity().page_tokens,
      base::kv_formats_name(session.model().kv).c_str());
  if (const auto* best = kernels::kernel_sets().front(); session.model().kernel_set != best)
    say(base::LogLevel::warning, "not the fastest kernels: %s instead of %s (%s)",
        std::string(session.model().kernel_set->name).c_str(), std::string(best->name).c_str(),
        best->is_supported() ? "--kernels" : "this processor lacks what they need");
  const int signal = wait_and_report(signals, session, **server);
  say(base::LogLevel::info, "%s: finishing %zu requests (again: stop at once)",
      signal == SIGTERM ? "SIGTERM" : "interrupted", (*server)->active_requests());
  (*server)->begin_drain();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);  // a second signal ends the process
  (*server)->stop(kDrainGrace);
}

}  // namespace

void add_serve_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("serve", "Serve a model over HTTP: the OpenAI API, streaming, many requests at once");
  auto options = std::make_shared<ServeOptions>();
  add_session_options(*command, options->session);
  add_option(*command, "--host", options->server.host, "address to listen on");
  add_option(*command, "--port", options->server.port, "port to listen on; 0: any free one")
      ->check(CLI::Range(0, 65535));
  add_option(*command, "--alias", options->alias, "the model's name in /v1/models and replies; empty: the file's");
  add_option(*command, "--rows-max", options->session.rows_max, "requests running at once; others wait")
      ->check(CLI::Range(1, 1024));
  add_policy_options(*command, options->policy);
  add_option(*command, "--api-key-file", options->api_key_file,
             "only requests with a key of this file are served: a line each, KEY [interactive|batch|background]");
  add_option(*command, "--log-level", options->log_level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  add_option(
      *command, "--otlp", options->server.otlp_url,
      "send a trace of each request to this OpenTelemetry collector (http://HOST:4318), with a span for each phase");
  add_option(*command, "--log", options->log_format, "text, or json: one object a line")
      ->check(CLI::IsMember({"text", "json"}));
  add_option(*command, "--record", options->session.record,
             "write the scheduler's calls to this file (takt-sim replays them)");
  command->footer(
      "Example:\n  takt serve smollm2-135m --port 8080\n  curl http://127.0.0.1:8080/v1/chat/completions -d "
      "'{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}'");
  command->callback([options] { serve(*options); });
}

}  // namespace takt::apps
