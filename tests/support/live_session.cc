#include "support/live_session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "scheduler/scheduler.h"

namespace takt::tests {
namespace {

void append_bits(std::string& out, const contract::TokenOutput& token) {
  const auto append = [&out](const auto& value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); };
  append(token.id);
  append(token.logprob);
  for (const contract::TokenLogprob& entry : token.top) {
    append(entry.id);
    append(entry.logprob);
  }
}

}  // namespace

void CollectingSink::on_output(const contract::RequestOutput& output, const contract::RequestTimes& request_times) {
  const std::lock_guard guard(mutex_);
  prompt_positions.insert(prompt_positions.end(), output.prompt_positions.begin(), output.prompt_positions.end());
  tokens.insert(tokens.end(), output.tokens.begin(), output.tokens.end());
  text += output.text;
  times = request_times;
  parts.push_back(times.since_last);
  if (output.finish != contract::FinishReason::none) {
    finish = output.finish;
    ++ends;
  }
  changed_.notify_all();
}

void CollectingSink::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ends > 0; });
}

void CollectingSink::wait_for_tokens(size_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ends > 0 || tokens.size() >= count; });
}

std::string fingerprint(const CollectingSink& sink) {
  std::string bits;
  for (const auto& position : sink.prompt_positions) append_bits(bits, position);
  for (const auto& token : sink.tokens) append_bits(bits, token);
  return bits;
}

LiveSession::LiveSession(std::shared_ptr<const model::Model> model, int threads, const contract::Capacity& capacity,
                         const Wrap& wrap)
    : pool_(threads) {
  const int64_t rows = capacity.step_tokens_max;
  auto engine = engine::Engine::create(std::move(model), pool_, {capacity.page_count, rows});
  auto scheduler = scheduler::make_scheduler(capacity);
  if (!engine || !scheduler) {
    ADD_FAILURE() << (!engine ? engine.error().message : scheduler.error().message);
    std::abort();
  }
  engine_ = std::move(engine).value();
  scheduler_ = std::move(scheduler).value();
  if (wrap) wrapped_ = wrap(*scheduler_);
  world_ = std::make_unique<worlds::RealWorld>(wrapped_ ? *wrapped_ : *scheduler_, *engine_);
}

void LiveSession::start() {
  loop_ = std::thread([this] { world_->run(); });
}

LiveSession::~LiveSession() {
  world_->stop();
  if (loop_.joinable()) loop_.join();
}

std::shared_ptr<CollectingSink> LiveSession::submit(std::vector<contract::TokenId> prompt, int64_t output_tokens_max,
                                                    contract::GenerationSpec spec, contract::RequestId* id,
                                                    contract::ServiceClass service_class) {
  auto sink = std::make_shared<CollectingSink>();
  contract::Submission submission;
  submission.request.prompt = std::make_shared<std::vector<contract::TokenId>>(std::move(prompt));
  submission.request.output_tokens_max = base::Tokens(output_tokens_max);
  submission.request.service_class = service_class;
  submission.generation = std::move(spec);
  submission.sink = sink;
  auto accepted = world_->submit(std::move(submission));
  if (!accepted)
    ADD_FAILURE() << accepted.error().message;
  else if (id != nullptr)
    *id = accepted->id;
  return sink;
}

}  // namespace takt::tests
