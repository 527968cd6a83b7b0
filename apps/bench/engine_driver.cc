#include "bench/engine_driver.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <random>

#include "app_options.h"

namespace takt::apps {
namespace {

constexpr uint64_t kTokenSeed = 1;

contract::RequestId id_of(int64_t sequence) { return contract::RequestId{static_cast<uint64_t>(sequence) + 1}; }

}  // namespace

EngineDriver::EngineDriver(std::shared_ptr<const model::Model> model, base::ThreadPool& pool,
                           const DriverOptions& options)
    : options_(options),
      pages_per_sequence_((options.positions + kernels::kPageTokens - 1) / kernels::kPageTokens),
      prompt_tokens_(static_cast<size_t>(options.sequence_count)),
      has_pages_(static_cast<size_t>(options.sequence_count)) {
  auto engine = engine::Engine::create(
      model, pool, {static_cast<uint32_t>(pages_per_sequence_ * options.sequence_count), options.step_rows_max});
  if (!engine) fail(engine.error());
  engine_ = std::move(engine).value();
  std::mt19937_64 random(kTokenSeed);
  tokens_.resize(static_cast<size_t>(options.sequence_count));
  for (auto& tokens : tokens_)
    for (int64_t i = 0; i < options.positions; ++i)
      tokens.push_back(static_cast<contract::TokenId>(random() % model->spec.vocabulary_size));
}

void EngineDriver::begin(int64_t sequence, int64_t prompt_tokens) {
  const auto& tokens = tokens_[static_cast<size_t>(sequence)];
  engine_->release(id_of(sequence));
  contract::Request request;
  request.id = id_of(sequence);
  request.prompt = std::make_shared<std::vector<contract::TokenId>>(tokens.begin(), tokens.begin() + prompt_tokens);
  request.output_tokens_max = base::Tokens(INT32_MAX);
  contract::GenerationSpec spec;
  if (!options_.does_sample) {
    spec.forced_tokens.assign(tokens.begin() + prompt_tokens, tokens.end());
    spec.forced_tokens.resize(tokens.size() + 1, 0);
  }
  if (auto status = engine_->admit(request, std::move(spec)); !status) fail(status.error());
  prompt_tokens_[static_cast<size_t>(sequence)] = prompt_tokens;
  has_pages_[static_cast<size_t>(sequence)] = false;
}

std::vector<contract::PageId> EngineDriver::pages_once(int64_t sequence) {
  std::vector<contract::PageId> pages;
  if (has_pages_[static_cast<size_t>(sequence)]) return pages;
  has_pages_[static_cast<size_t>(sequence)] = true;
  for (int64_t page = 0; page < pages_per_sequence_; ++page)
    pages.push_back({static_cast<uint32_t>(sequence * pages_per_sequence_ + page)});
  return pages;
}

void EngineDriver::prefill(int64_t sequence, int64_t begin, int64_t end, int64_t chunk) {
  for (int64_t at = begin; at < end;) {
    const int64_t next = std::min(end, at + chunk);
    contract::StepPlan plan;
    plan.prefill_chunks.push_back({id_of(sequence), static_cast<uint32_t>(at), static_cast<uint32_t>(next),
                                   next == prompt_tokens_[static_cast<size_t>(sequence)], pages_once(sequence)});
    step(plan);
    at = next;
  }
}

void EngineDriver::decode(int64_t count, int64_t position) {
  contract::StepPlan plan;
  for (int64_t sequence = 0; sequence < count; ++sequence)
    plan.decode_rows.push_back({id_of(sequence), static_cast<uint32_t>(position), {}, pages_once(sequence)});
  step(plan);
}

EngineDriver::Mixed EngineDriver::mixed(const std::vector<int64_t>& positions, int64_t chunk, int64_t begin,
                                        int64_t end) {
  Mixed out;
  if (end > 0)
    out.plan.prefill_chunks.push_back({id_of(chunk), static_cast<uint32_t>(begin), static_cast<uint32_t>(end),
                                       end == prompt_tokens_[static_cast<size_t>(chunk)], pages_once(chunk)});
  for (size_t i = 0; i < positions.size(); ++i) {
    const auto sequence = static_cast<int64_t>(i);
    out.plan.decode_rows.push_back({id_of(sequence), static_cast<uint32_t>(positions[i]), {}, pages_once(sequence)});
  }
  const auto began = std::chrono::steady_clock::now();
  engine_->start(out.plan);
  out.completion = engine_->complete();
  out.completion.result.duration = base::Micros(
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - began).count());
  return out;
}

void EngineDriver::fill_depth(int64_t sequence, int64_t depth, int64_t chunk) {
  const int64_t computed = std::min(depth, kDepthComputed);
  begin(sequence, computed);
  prefill(sequence, 0, computed, chunk);
  if (depth == computed) return;
  contract::StepPlan plan;
  constexpr int64_t kPage = kernels::kPageTokens;
  const int64_t first = sequence * pages_per_sequence_;
  for (int64_t page = kDepthComputed / kPage; page * kPage < depth; ++page)
    plan.page_copies.push_back(
        {{static_cast<uint32_t>(first + page % (kDepthComputed / kPage))}, {static_cast<uint32_t>(first + page)}});
  step(plan);
}

void EngineDriver::step(const contract::StepPlan& plan) {
  engine_->start(plan);
  engine_->complete();
}

}  // namespace takt::apps
