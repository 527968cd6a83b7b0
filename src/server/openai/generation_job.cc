#include "server/openai/generation_job.h"

#include <algorithm>
#include <ctime>
#include <limits>

namespace takt::server {

using contract::FinishReason;
using contract::TokenOutput;

GenerationJob::GenerationJob(std::shared_ptr<Exchange> exchange, std::shared_ptr<const Backend> backend,
                             std::shared_ptr<ServerMetrics> metrics, PreparedGeneration prepared)
    : exchange_(std::move(exchange)),
      backend_(std::move(backend)),
      metrics_(std::move(metrics)),
      prepared_(std::move(prepared)) {
  const GenerationRequest& request = prepared_.request;
  head_.endpoint = request.endpoint;
  head_.id = (is_chat() ? "chatcmpl-" : "cmpl-") + exchange_->request().request_id;
  head_.created = static_cast<int64_t>(std::time(nullptr));
  head_.model = request.model.empty() ? backend_->name : request.model;
  head_.fingerprint = backend_->shape.numerics_version;
  head_.seed = request.sampling.seed;
  head_.is_seed_negative = request.is_seed_negative;
  choices_.resize(prepared_.prompts.size() * request.choices_per_prompt);
  for (size_t i = 0; i < choices_.size(); ++i) choices_[i].prompt_index = i / request.choices_per_prompt;
}

void GenerationJob::start() {
  exchange_->on_disconnect([self = shared_from_this()] { self->stop_choices(); });
  if (prepared_.request.timeout) {
    exchange_->call_after(*prepared_.request.timeout, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->on_timeout();
    });
  }
  write_clock_ = std::make_shared<WriteClock>(metrics_, *backend_->port);
  exchange_->on_written([clock = write_clock_](uint64_t bytes) { clock->on_written(bytes); });
  for (size_t i = 0; i < choices_.size(); ++i) {
    if (const auto error = submit(i)) return refuse(*error, choices_[i].prompt_index);
  }
  if (!prepared_.request.stream) return;
  HttpReply head;
  head.content_type = "text/event-stream; charset=utf-8";
  head.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
  exchange_->begin_stream(std::move(head));
}

std::optional<base::Error> GenerationJob::submit(size_t index) {
  const GenerationRequest& request = prepared_.request;
  Choice& choice = choices_[index];
  contract::Submission submission;
  submission.request.prompt = prepared_.prompts[choice.prompt_index];
  const int64_t context_tokens = backend_->context_tokens;
  submission.request.output_tokens_max =
      base::Tokens(std::min(request.output_tokens_max.value_or(context_tokens), context_tokens));
  submission.request.service_class = request.service_class.value_or(exchange_->request().caller.default_class);
  submission.request.tenant = exchange_->request().caller.tenant;
  submission.request.reads_prefix_cache = request.cache_prompt;
  submission.generation.sampling = request.sampling;
  // Counted within the prompt, so that a prompt's answer is the same alone and in a list.
  submission.generation.sampling.choice_index = static_cast<uint32_t>(index % request.choices_per_prompt);
  if (request.ignore_eos) {
    // An end token in the middle has no text: a greedy model that has come to one would go on with nothing else.
    for (const contract::TokenId id : backend_->text.end_tokens)
      submission.generation.sampling.logit_bias.emplace_back(id, -std::numeric_limits<float>::infinity());
  }
  submission.generation.top_logprobs = request.top_logprobs;
  if (request.echo) submission.generation.prompt_top_logprobs = request.top_logprobs;
  auto stop_detector = backend_->text.make_stop_detector(request.stop_strings, request.ignore_eos);
  if (!stop_detector) return stop_detector.error();
  submission.generation.stop_detector = std::move(*stop_detector);
  std::string label = exchange_->request().request_id;
  if (choices_.size() > 1) label += " choice " + std::to_string(index);
  choice.queue = std::make_shared<OutputQueue>(exchange_, std::shared_ptr<OutputReceiver>(shared_from_this(), this),
                                               index, metrics_, std::string(name(request.endpoint)), std::move(label));
  submission.sink = choice.queue;
  base::Result<contract::Acceptance> accepted = backend_->port->submit(std::move(submission));
  if (!accepted) {
    choice.queue->detach();
    choice.queue.reset();
    return accepted.error();
  }
  choice.request = accepted->id;
  if (index == 0 && accepted->predicted_ttft) {
    const int64_t ms = accepted->predicted_ttft->count() / 1000;
    exchange_->reply_headers().emplace_back("x-takt-predicted-ttft-ms", std::to_string(ms));
  }
  ++running_count_;
  show_to_watchers(index);
  return std::nullopt;
}

void GenerationJob::show_to_watchers(size_t index) {
  const Choice& choice = choices_[index];
  const HttpRequest& request = exchange_->request();
  const base::Micros now = backend_->port->now();
  const auto age = std::chrono::steady_clock::now() - request.received;
  RequestFacts facts;
  facts.id = choice.request;
  facts.public_id = request.request_id + (index > 0 ? "#" + std::to_string(index) : "");
  facts.trace_parent = std::string(request.header("traceparent"));
  facts.endpoint = std::string(name(prepared_.request.endpoint));
  facts.service_class = prepared_.request.service_class.value_or(request.caller.default_class);
  facts.received = now - base::Micros(std::chrono::duration_cast<std::chrono::microseconds>(age).count());
  const auto prompt_tokens = static_cast<int64_t>(prepared_.prompts[choice.prompt_index]->size());
  metrics_->live().add(std::move(facts), now, base::Tokens(prompt_tokens));
  write_clock_->add(choice.request);
}

void GenerationJob::refuse(const base::Error& error, size_t prompt_index) {
  stop_choices();
  metrics_->count_refusal(name(prepared_.request.endpoint), base::name(error.code));
  ApiError api_error = to_api_error(error);
  if (error.code == base::ErrorCode::exceed_context_size) {
    api_error.prompt_tokens = static_cast<int64_t>(prepared_.prompts[prompt_index]->size());
    api_error.context_tokens = backend_->context_tokens;
    api_error.param = is_chat() ? "messages" : "prompt";
  }
  exchange_->reply(error_reply(api_error));
}

void GenerationJob::on_output(size_t index, contract::RequestOutput output, const contract::RequestTimes& times) {
  Choice& choice = choices_[index];
  if (choice.queue == nullptr) return;
  choice.times = times;
  if (output.finish == FinishReason::error) {
    return fail(to_api_error({base::ErrorCode::internal, "the engine could not go on: " + output.error}));
  }
  if (output.finish == FinishReason::cancelled) {  // not by us: we detach before we cancel
    return fail(
        to_api_error({base::ErrorCode::shutting_down, "the request was cancelled: the server is shutting down"}));
  }
  std::move(output.prompt_positions.begin(), output.prompt_positions.end(),
            std::back_inserter(choice.prompt_positions));
  choice.finish = output.finish;
  if (choice.finish != FinishReason::none && prepared_.request.has_timing_parts)
    choice.parts = metrics_->live().find(choice.request);
  if (prepared_.request.stream) {
    stream_output(index, output);
    if (choice.queue == nullptr) return;  // the reader was too slow and is gone
  } else {
    choice.text += output.text;
    if (prepared_.request.top_logprobs) {
      std::move(output.tokens.begin(), output.tokens.end(), std::back_inserter(choice.tokens));
    }
  }
  if (choice.finish == FinishReason::none) return;
  choice.queue->detach();
  choice.queue.reset();
  if (--running_count_ == 0) prepared_.request.stream ? finish_stream() : finish();
}

// A step that released no text (the beginning of a character, or of a stop string) makes no chunk, unless it has log-probabilities
// to show. The role comes with the first text and not before: a client that takes the first chunk for the first token is right then.
void GenerationJob::stream_output(size_t index, const contract::RequestOutput& output) {
  Choice& choice = choices_[index];
  const bool has_logprobs = prepared_.request.top_logprobs && !output.tokens.empty();
  if (output.text.empty() && !has_logprobs && choice.finish == FinishReason::none) return;
  std::string chunks = choice.has_begun ? "" : stream_beginning(index);
  ChoiceView view{index, output.text, std::nullopt, choice.finish, nullptr};
  if (has_logprobs) view.logprobs.emplace(LogprobsView{output.tokens, false, choice.text_characters});
  if (choice.finish != FinishReason::none && choices_.size() == 1) view.timings = &choice.times;
  if (choice.parts) view.parts = &*choice.parts;
  chunks += choice_chunk(head_, view, prepared_.request.include_usage, backend_->text.token_bytes);
  for (const TokenOutput& token : output.tokens) {
    if (has_logprobs) choice.text_characters += character_count(backend_->text.token_bytes(token.id));
  }
  exchange_->write(std::move(chunks));
  write_clock_->note(choice.request, static_cast<uint64_t>(choice.times.output_tokens.count()),
                     exchange_->bytes_enqueued());
}

std::string GenerationJob::stream_beginning(size_t index) {
  Choice& choice = choices_[index];
  choice.has_begun = true;
  if (is_chat()) return role_chunk(head_, index, prepared_.request.include_usage);
  if (!prepared_.request.echo) return "";
  const std::vector<TokenOutput> tokens = echoed_tokens(choice);
  choice.prompt_positions.clear();
  ChoiceView view{index, prepared_.echo_texts[choice.prompt_index], std::nullopt, FinishReason::none, nullptr};
  if (prepared_.request.top_logprobs) view.logprobs.emplace(LogprobsView{tokens, true, 0});
  for (const TokenOutput& token : tokens) {
    choice.text_characters += character_count(backend_->text.token_bytes(token.id));
  }
  return choice_chunk(head_, view, prepared_.request.include_usage, backend_->text.token_bytes);
}

// The prompt as tokens with log-probabilities: what position i expected belongs to the token behind it.
std::vector<TokenOutput> GenerationJob::echoed_tokens(const Choice& choice) const {
  const std::vector<contract::TokenId>& prompt = *prepared_.prompts[choice.prompt_index];
  std::vector<TokenOutput> tokens(1);
  tokens[0].id = prompt[0];
  const size_t count = std::min(prompt.size() - 1, choice.prompt_positions.size());
  tokens.insert(tokens.end(), choice.prompt_positions.begin(),
                choice.prompt_positions.begin() + static_cast<ptrdiff_t>(count));
  return tokens;
}

void GenerationJob::finish() {
  const GenerationRequest& request = prepared_.request;
  std::vector<ChoiceView> views;
  for (size_t i = 0; i < choices_.size(); ++i) {
    Choice& choice = choices_[i];
    if (request.echo) choice.text.insert(0, prepared_.echo_texts[choice.prompt_index]);
    if (request.echo && request.top_logprobs) {
      std::vector<TokenOutput> tokens = echoed_tokens(choice);
      tokens.insert(tokens.end(), choice.tokens.begin(), choice.tokens.end());
      choice.tokens = std::move(tokens);
    }
    ChoiceView view{i, choice.text, std::nullopt, choice.finish, &choice.times};
    if (request.top_logprobs) view.logprobs.emplace(LogprobsView{choice.tokens, request.echo, 0});
    if (choice.parts) view.parts = &*choice.parts;
    views.push_back(std::move(view));
  }
  HttpReply reply;
  reply.body = reply_json(head_, views, usage(), backend_->text.token_bytes);
  exchange_->reply(std::move(reply));
}

void GenerationJob::finish_stream() {
  std::string chunks;
  if (prepared_.request.include_usage) chunks = usage_chunk(head_, usage());
  chunks += kDoneChunk;
  exchange_->write(std::move(chunks));
  exchange_->end_stream();
}

void GenerationJob::fail(const ApiError& error) {
  stop_choices();
  if (!prepared_.request.stream) return exchange_->reply(error_reply(error));
  exchange_->write(error_chunk(error) + std::string(kDoneChunk));
  exchange_->end_stream();
}

void GenerationJob::on_timeout() {
  if (running_count_ == 0) return;
  metrics_->count_refusal(name(prepared_.request.endpoint), "timeout");
  ApiError error;
  error.status = 408;
  error.type = "timeout_error";
  error.code = "timeout";
  error.param = "timeout";
  error.message = "the request was not finished within the " + std::to_string(prepared_.request.timeout->count()) +
                  " ms that it gave itself";
  fail(error);
}

void GenerationJob::on_overflow() { exchange_->abort(); }

void GenerationJob::stop_choices() {
  for (Choice& choice : choices_) {
    if (choice.queue == nullptr) continue;
    choice.queue->detach();
    choice.queue.reset();
    backend_->port->cancel(choice.request);
  }
  running_count_ = 0;
}

Usage GenerationJob::usage() const {
  Usage usage;
  for (const auto& prompt : prepared_.prompts) usage.prompt_tokens += static_cast<int64_t>(prompt->size());
  for (size_t i = 0; i < choices_.size(); ++i) {
    usage.completion_tokens += choices_[i].times.output_tokens.count();
    // A prompt counts once, as its first choice met it.
    if (i % prepared_.request.choices_per_prompt == 0)
      usage.cached_tokens += choices_[i].times.prompt_tokens_cached.count();
  }
  return usage;
}

}  // namespace takt::server
