#include "engine/engine.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <string>
#include <utility>

namespace takt::engine {

base::Result<std::unique_ptr<Engine>> Engine::create(std::shared_ptr<const model::Model> model, base::ThreadPool& pool,
                                                     const EngineOptions& options) {
  auto kv = KvMemory::create(*model, options.page_count);
  if (!kv) return kv.error();
  auto forward = Forward::create(model, pool, options.step_rows_max);
  if (!forward) return forward.error();
  return std::unique_ptr<Engine>(new Engine(std::move(model), std::move(kv).value(), std::move(forward).value()));
}

Engine::Engine(std::shared_ptr<const model::Model> model, KvMemory kv, std::unique_ptr<Forward> forward)
    : model_(std::move(model)), kv_(std::move(kv)), forward_(std::move(forward)) {}

base::Status Engine::admit(const contract::Request& request, contract::GenerationSpec spec) {
  const auto is_token = [&](contract::TokenId id) {
    return id >= 0 && static_cast<uint32_t>(id) < model_->spec.vocabulary_size;
  };
  const auto refuse = [&](const std::string& what, contract::TokenId id) {
    return base::Error{base::ErrorCode::invalid_argument, what + " has the token id " + std::to_string(id) +
                                                              ", outside the vocabulary (0 to " +
                                                              std::to_string(model_->spec.vocabulary_size - 1) + ")"};
  };
  for (contract::TokenId id : *request.prompt)
    if (!is_token(id)) return refuse("prompt", id);
  for (contract::TokenId id : spec.forced_tokens)
    if (!is_token(id)) return refuse("forced_tokens", id);
  for (const auto& [id, bias] : spec.sampling.logit_bias)
    if (!is_token(id)) return refuse("logit_bias", id);
  auto sequence = std::make_unique<Sequence>();
  sequence->spec = std::move(spec);
  sequence->tokens = *request.prompt;
  sequence->prompt_tokens = sequence->tokens.size();
  sequence->output_tokens_max = static_cast<uint64_t>(request.output_tokens_max.count());
  sequences_[request.id] = std::move(sequence);
  return {};
}

void Engine::release(contract::RequestId id) { sequences_.erase(id); }

void Engine::start(const contract::StepPlan& plan) {
  step_ = plan.step;
  row_tokens_.clear();
  segments_.clear();
  wanted_rows_.clear();
  wanted_.clear();
  completion_ = {};
  completion_.result.step = plan.step;
  for (contract::RequestId id : plan.preempted)
    if (auto found = sequences_.find(id); found != sequences_.end()) kv_.clear(found->second->pages);
  for (const contract::PageCopy& copy : plan.page_copies) kv_.copy_page(copy.from, copy.to);
  for (const contract::PrefillChunk& chunk : plan.prefill_chunks) plan_prefill(chunk);
  for (const contract::DecodeRow& row : plan.decode_rows) plan_decode(row);
}

void Engine::add_segment(Sequence& sequence, int64_t begin, int64_t end, contract::Phase phase) {
  assert(begin < end && end <= static_cast<int64_t>(sequence.tokens.size()));
  segments_.push_back({static_cast<int64_t>(row_tokens_.size()), end - begin, begin, &sequence.pages, phase});
  row_tokens_.insert(row_tokens_.end(), sequence.tokens.begin() + begin, sequence.tokens.begin() + end);
}

void Engine::want(Sequence& sequence, contract::RequestId id, int64_t row, int64_t position, bool yields_token,
                  bool is_prompt_position) {
  wanted_rows_.push_back(row);
  wanted_.push_back({completion_.result.rows.size() - 1, &sequence, id, position, yields_token, is_prompt_position});
}

void Engine::plan_prefill(const contract::PrefillChunk& chunk) {
  Sequence& sequence = *sequences_.at(chunk.request);
  for (contract::PageId page : chunk.pages_added) kv_.append(sequence.pages, page);
  const auto first_row = static_cast<int64_t>(row_tokens_.size());
  add_segment(sequence, chunk.begin, chunk.end, contract::Phase::prefill);
  completion_.result.rows.push_back({chunk.request, contract::Phase::prefill, 0, contract::FinishReason::none, {}});
  const bool yields_token = chunk.is_last && sequence.output_tokens_max > 0;
  if (chunk.is_last && !yields_token) {
    completion_.result.rows.back().finish = contract::FinishReason::length;
    output_of(chunk.request).finish = contract::FinishReason::length;
  }
  const bool reports_prompt = sequence.spec.prompt_top_logprobs.has_value();
  for (uint32_t position = chunk.begin; position < chunk.end; ++position) {
    const bool is_report =
        reports_prompt && position < sequence.prompt_tokens && position >= sequence.prompt_positions_reported;
    const bool is_yield = yields_token && position + 1 == chunk.end;
    if (is_report || is_yield)
      want(sequence, chunk.request, first_row + position - chunk.begin, position, is_yield, is_report);
  }
}

void Engine::plan_decode(const contract::DecodeRow& row) {
  assert(row.draft_tokens.empty());  // no scheduler makes drafts yet
  Sequence& sequence = *sequences_.at(row.request);
  for (contract::PageId page : row.pages_added) kv_.append(sequence.pages, page);
  assert(row.position + 1 == sequence.tokens.size());
  const auto first_row = static_cast<int64_t>(row_tokens_.size());
  add_segment(sequence, row.position, row.position + 1, contract::Phase::decode);
  completion_.result.rows.push_back({row.request, contract::Phase::decode, 0, contract::FinishReason::none, {}});
  want(sequence, row.request, first_row, row.position, true, false);
}

contract::StepCompletion Engine::complete() {
  if (!row_tokens_.empty()) {
    forward_->run(row_tokens_, segments_, wanted_rows_, [this](size_t index, std::span<float> logits) {
      const auto began = std::chrono::steady_clock::now();
      take_logits(wanted_[index], logits);
      sampling_ += std::chrono::steady_clock::now() - began;
    });
    completion_.sampling = base::Micros(std::chrono::duration_cast<std::chrono::microseconds>(sampling_).count());
    sampling_ = {};
    row_tokens_.clear();
  }
  return std::move(completion_);
}

contract::RequestOutput& Engine::output_of(contract::RequestId id) {
  const auto found = std::find_if(completion_.outputs.rbegin(), completion_.outputs.rend(),
                                  [id](const contract::RequestOutput& output) { return output.request == id; });
  if (found != completion_.outputs.rend()) return *found;
  completion_.outputs.emplace_back();
  completion_.outputs.back().request = id;
  return completion_.outputs.back();
}

void Engine::take_logits(const WantedLogits& wanted, std::span<float> logits) {
  Sequence& sequence = *wanted.sequence;
  const auto next = static_cast<size_t>(wanted.position) + 1;
  if (completion_.result.rows[wanted.row_result].finish == contract::FinishReason::error) return;
  if (!are_sound(logits))
    return finish_row(wanted, contract::FinishReason::error, {},
                      "the model's output is not a number: are its weights damaged?");
  if (wanted.is_prompt_position) {
    const contract::TokenId actual = next < sequence.prompt_tokens ? sequence.tokens[next] : -1;
    output_of(wanted.request)
        .prompt_positions.push_back(log_probabilities(logits, actual, *sequence.spec.prompt_top_logprobs));
    sequence.prompt_positions_reported = next;
  }
  if (!wanted.yields_token) return;
  // The raw distribution is reported, so it is kept before sampling changes the logits.
  contract::TokenOutput token;
  const size_t output_index = sequence.output_tokens();
  const bool is_forced = output_index < sequence.spec.forced_tokens.size();
  std::vector<float> raw;
  if (sequence.spec.top_logprobs) raw.assign(logits.begin(), logits.end());
  allowed_.clear();
  if (sequence.spec.constraint) {
    allowed_.assign((logits.size() + 63) / 64, ~uint64_t{0});
    sequence.spec.constraint->mask(allowed_);
  }
  const Sampled sampled = is_forced ? Sampled{sequence.spec.forced_tokens[output_index], true}
                                    : sampler_.sample(sequence.spec.sampling, sequence.tokens, next, logits, allowed_);
  if (!sampled.is_valid) return finish_row(wanted, contract::FinishReason::error, {}, "every token is banned");
  token.id = sampled.token;
  if (sequence.spec.top_logprobs) token = log_probabilities(raw, sampled.token, *sequence.spec.top_logprobs);
  accept_token(wanted, std::move(token));
}

void Engine::accept_token(const WantedLogits& wanted, contract::TokenOutput token) {
  Sequence& sequence = *wanted.sequence;
  sequence.tokens.push_back(token.id);
  completion_.result.rows[wanted.row_result].tokens_accepted += 1;
  completion_.result.rows[wanted.row_result].tokens.push_back(token.id);
  if (sequence.spec.constraint) sequence.spec.constraint->accept(token.id);
  contract::StopDetector::Verdict verdict;
  if (sequence.spec.stop_detector) verdict = sequence.spec.stop_detector->accept(token.id);
  contract::RequestOutput& output = output_of(wanted.request);
  output.tokens.push_back(std::move(token));
  output.text += verdict.text;
  if (verdict.is_stop) return finish_row(wanted, contract::FinishReason::stop, {}, {});
  if (sequence.output_tokens() < sequence.output_tokens_max) return;
  finish_row(wanted, contract::FinishReason::length,
             sequence.spec.stop_detector ? sequence.spec.stop_detector->finish() : std::string(), {});
}

void Engine::finish_row(const WantedLogits& wanted, contract::FinishReason reason, std::string text,
                        std::string error) {
  completion_.result.rows[wanted.row_result].finish = reason;
  contract::RequestOutput& output = output_of(wanted.request);
  output.finish = reason;
  output.text += text;
  output.error = std::move(error);
}

}  // namespace takt::engine
