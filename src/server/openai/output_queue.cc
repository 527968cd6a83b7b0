#include "server/openai/output_queue.h"

#include <cstdio>

#include "base/log.h"

namespace takt::server {

namespace {

// A step's output is some hundred bytes. The strand empties the queue within milliseconds, unless something is badly wrong.
constexpr size_t kQueuedBytesMax = size_t{8} << 20;

size_t cost_bytes(const contract::RequestOutput& output) {
  size_t bytes = sizeof output + output.text.size() + output.error.size();
  for (const auto* list : {&output.prompt_positions, &output.tokens}) {
    for (const contract::TokenOutput& token : *list) {
      bytes += sizeof token + token.top.size() * sizeof(contract::TokenLogprob);
    }
  }
  return bytes;
}

double ms_between(std::optional<base::Micros> from, std::optional<base::Micros> to) {
  return from && to ? static_cast<double>((*to - *from).count()) / 1e3 : 0;
}

}  // namespace

OutputQueue::OutputQueue(std::shared_ptr<Exchange> exchange, std::shared_ptr<OutputReceiver> receiver, size_t index,
                         std::shared_ptr<ServerMetrics> metrics, std::string endpoint, std::string label)
    : index_(index),
      metrics_(std::move(metrics)),
      endpoint_(std::move(endpoint)),
      label_(std::move(label)),
      exchange_(std::move(exchange)),
      receiver_(std::move(receiver)) {}

void OutputQueue::count(const contract::RequestOutput& output, const contract::RequestTimes& times) {
  metrics_->record_output(output, times, !has_first_token_);
  has_first_token_ = has_first_token_ || times.first_token.has_value();
  if (output.finish == contract::FinishReason::none) return;
  metrics_->record_finish(endpoint_, output.finish, times);
  char line[256];
  std::snprintf(line, sizeof line,
                "%s: %s; prompt %lld tokens (%lld cached), output %lld; queue %.1f ms, prefill %.1f ms, decode %.1f ms",
                endpoint_.c_str(), std::string(contract::name(output.finish)).c_str(),
                static_cast<long long>(times.prompt_tokens.count()),
                static_cast<long long>(times.prompt_tokens_cached.count()),
                static_cast<long long>(times.output_tokens.count()), ms_between(times.submitted, times.first_scheduled),
                ms_between(times.first_scheduled, times.first_token), ms_between(times.first_token, times.finished));
  base::log(base::LogLevel::info, line, label_);
}

void OutputQueue::on_output(const contract::RequestOutput& output, const contract::RequestTimes& times) {
  count(output, times);
  const std::lock_guard lock(mutex_);
  if (receiver_ == nullptr || has_overflowed_) return;
  queued_bytes_ += cost_bytes(output);
  if (queued_bytes_ > kQueuedBytesMax) {
    has_overflowed_ = true;
    items_.clear();
  } else {
    items_.push_back({output, times});
  }
  if (is_posted_) return;
  is_posted_ = true;
  exchange_->post([self = shared_from_this()] { self->deliver(); });
}

void OutputQueue::deliver() {
  std::vector<Item> items;
  std::shared_ptr<OutputReceiver> receiver;
  bool has_overflowed = false;
  {
    const std::lock_guard lock(mutex_);
    items.swap(items_);
    receiver = receiver_;
    has_overflowed = has_overflowed_;
    queued_bytes_ = 0;
    is_posted_ = false;
  }
  if (receiver == nullptr) return;
  if (has_overflowed) return receiver->on_overflow();
  for (Item& item : items) receiver->on_output(index_, std::move(item.output), item.times);
}

void OutputQueue::detach() {
  // Destroyed after the lock is released.
  std::shared_ptr<Exchange> exchange;
  std::shared_ptr<OutputReceiver> receiver;
  const std::lock_guard lock(mutex_);
  exchange.swap(exchange_);
  receiver.swap(receiver_);
  items_.clear();
}

}  // namespace takt::server
