#include "server/testing/fake_model.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

#include "text/detokenizer.h"
#include "text/output_filter.h"
#include "text/small_vocabulary.h"

namespace takt::server {

namespace {

using contract::FinishReason;
using contract::TokenId;
namespace json = boost::json;

constexpr uint32_t kPromptTokensPerStep = 64;

uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// "role: content" lines; tools and other variables are shown, so that a test sees what arrived.
base::Result<std::string> render(const json::object& variables) {
  std::string out;
  if (const json::value* tools = variables.if_contains("tools")) out += "tools: " + json::serialize(*tools) + "\n";
  if (const json::value* style = variables.if_contains("style")) out += "style: " + json::serialize(*style) + "\n";
  for (const json::value& message : variables.at("messages").as_array()) {
    const std::string role(message.at("role").as_string());
    if (role == "alien") return base::Error{base::ErrorCode::template_error, "Unknown role: alien"};
    const json::value* content = message.as_object().if_contains("content");
    out += role + ": " + (content != nullptr && content->is_string() ? std::string(content->as_string()) : "") + "\n";
    if (const json::value* calls = message.as_object().if_contains("tool_calls")) out += json::serialize(*calls) + "\n";
  }
  if (variables.at("add_generation_prompt").as_bool()) out += "assistant:";
  return out;
}

contract::TokenOutput token_output(TokenId id, size_t position, const std::optional<uint32_t>& top_count) {
  contract::TokenOutput out;
  out.id = id;
  if (!top_count) return out;
  out.logprob = -1.0f - 0.25f * static_cast<float>(position);
  for (uint32_t i = 0; i < *top_count; ++i) {
    out.top.push_back(
        {static_cast<TokenId>((static_cast<uint32_t>(id) + i) % 256), out.logprob - static_cast<float>(i)});
  }
  return out;
}

}  // namespace

FakeModel::FakeModel(Options options) : options_(std::move(options)) {
  tokenizer_ = *text::Tokenizer::create(text::small_bpe_vocabulary());
  thread_ = std::thread([this] { run(); });
}

FakeModel::~FakeModel() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  event_.notify_all();
  thread_.join();
}

base::Micros FakeModel::now() const {
  return base::Micros(
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - origin_).count());
}

base::Result<contract::Acceptance> FakeModel::submit(contract::Submission submission) {
  const std::lock_guard lock(mutex_);
  const auto prompt_tokens = submission.request.prompt_tokens().count();
  if (prompt_tokens >= options_.context_tokens) {
    return base::Error{base::ErrorCode::exceed_context_size, "the prompt has " + std::to_string(prompt_tokens) +
                                                                 " tokens, the context " +
                                                                 std::to_string(options_.context_tokens)};
  }
  if (entries_.size() >= options_.requests_max) return base::Error{base::ErrorCode::queue_full, "the queue is full"};
  Entry entry;
  entry.request = std::move(submission.request);
  entry.request.id = contract::RequestId{next_id_++};
  const int64_t room = options_.context_tokens - prompt_tokens;
  entry.request.output_tokens_max = std::min(entry.request.output_tokens_max, base::Tokens(room));
  entry.spec = std::move(submission.generation);
  entry.sink = std::move(submission.sink);
  entry.times.submitted = now();
  entry.times.prompt_tokens = entry.request.prompt_tokens();
  const std::string prompt = text::decode_bytes(tokenizer_->vocabulary(), *entry.request.prompt, {});
  if (const size_t say = prompt.rfind("say:"); say != std::string::npos) {
    entry.has_script = true;
    entry.script = prompt.substr(say + 4);
    entry.script = entry.script.substr(0, entry.script.find('\n'));
  }
  last_sampling_ = entry.spec.sampling;
  last_request_ = entry.request;
  const contract::RequestId id = entry.request.id;
  entries_.emplace(id.value, std::move(entry));
  event_.notify_all();
  return contract::Acceptance{id, options_.predicted_ttft, options_.predicted_ttft};
}

void FakeModel::cancel(contract::RequestId id) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id.value);
  if (found == entries_.end()) return;
  found->second.is_cancelled = true;
  event_.notify_all();
}

void FakeModel::listen(contract::StepListener* listener) {
  const std::lock_guard lock(mutex_);
  listener_ = listener;
}

contract::Bounds FakeModel::bounds() const {
  const std::lock_guard lock(mutex_);
  contract::Bounds bounds;
  for (const auto& [id, entry] : entries_) {
    ++(!entry.times.first_scheduled ? bounds.waiting_requests
       : !entry.times.first_token   ? bounds.prefilling_requests
                                    : bounds.decoding_requests);
  }
  bounds.pages_used = static_cast<uint32_t>(entries_.size());
  bounds.pages_free = 100;
  return bounds;
}

size_t FakeModel::running_count() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

contract::Sampling FakeModel::last_sampling() const {
  const std::lock_guard lock(mutex_);
  return last_sampling_;
}

contract::Request FakeModel::last_request() const {
  const std::lock_guard lock(mutex_);
  return last_request_;
}

void FakeModel::hold(bool is_held) {
  const std::lock_guard lock(mutex_);
  is_held_ = is_held;
  event_.notify_all();
}

void FakeModel::run() {
  std::unique_lock lock(mutex_);
  const auto has_cancelled = [this] {
    return std::any_of(entries_.begin(), entries_.end(), [](const auto& entry) { return entry.second.is_cancelled; });
  };
  while (!is_stopped_) {
    event_.wait(lock, [&] { return is_stopped_ || (!entries_.empty() && !is_held_) || has_cancelled(); });
    if (is_stopped_) return;
    step();
    if (options_.step_interval.count() > 0)
      event_.wait_for(lock, options_.step_interval, [this] { return is_stopped_; });
    lock.unlock();  // submitters get a chance
    lock.lock();
  }
}

void FakeModel::step() {
  if (listener_ != nullptr) {
    contract::StepRecord record;
    record.step = ++steps_;
    record.begin = record.end = now();
    for (const auto& [id, entry] : entries_) record.decode_rows.push_back(contract::RequestId{id});
    listener_->on_step(record);
  }
  for (auto it = entries_.begin(); it != entries_.end();) {
    Entry& entry = it->second;
    if (is_held_ && !entry.is_cancelled) {
      ++it;
    } else {
      it = advance(entry) ? entries_.erase(it) : std::next(it);
    }
  }
}

bool FakeModel::advance(Entry& entry) {
  contract::RequestOutput output;
  output.request = entry.request.id;
  if (entry.is_cancelled) {
    ++cancelled_count_;
    output.finish = FinishReason::cancelled;
  } else if (options_.fails) {
    output.finish = FinishReason::error;
    output.error = "not-a-number logits";
  } else if (!entry.times.first_scheduled) {
    entry.times.first_scheduled = now();
    const auto& prompt = *entry.request.prompt;
    for (size_t i = 0; entry.spec.prompt_top_logprobs && i < prompt.size(); ++i) {
      output.prompt_positions.push_back(
          token_output(i + 1 < prompt.size() ? prompt[i + 1] : -1, i, entry.spec.prompt_top_logprobs));
    }
    if (prompt.size() > kPromptTokensPerStep) return false;  // one more step
  }
  const int64_t count = entry.times.output_tokens.count();
  if (output.finish == FinishReason::none) {
    if (!entry.times.first_token) entry.times.first_token = now();
    if (count < entry.request.output_tokens_max.count()) {
      const TokenId token = next_token(entry);
      output.tokens.push_back(token_output(token, static_cast<size_t>(count), entry.spec.top_logprobs));
      entry.times.output_tokens += base::Tokens(1);
      contract::StopDetector::Verdict verdict = entry.spec.stop_detector->accept(token);
      output.text = std::move(verdict.text) + options_.extra_text;
      if (verdict.is_stop) output.finish = FinishReason::stop;
    }
    if (output.finish == FinishReason::none && entry.times.output_tokens >= entry.request.output_tokens_max) {
      output.finish = FinishReason::length;
      output.text += entry.spec.stop_detector->finish();
    }
  }
  if (output.finish != FinishReason::none) entry.times.finished = now();
  const base::Micros time = now();
  contract::TimeParts& parts = entry.times.since_last = {};
  const base::Micros begin = entry.accounted.value_or(entry.times.submitted);
  parts[contract::TimePart::own_compute] = time - begin;
  entry.accounted = time;
  entry.sink->on_output(output, entry.times);
  return output.finish != FinishReason::none;
}

TokenId FakeModel::next_token(const Entry& entry) const {
  const auto position = static_cast<uint64_t>(entry.times.output_tokens.count());
  if (!entry.has_script || position > entry.script.size()) {
    const contract::Sampling& sampling = entry.spec.sampling;
    const uint64_t key = sampling.temperature == 0 ? 0 : mixed(sampling.seed) ^ mixed(sampling.choice_index + 1);
    return static_cast<TokenId>('a' + mixed(key + position) % 26);
  }
  if (position == entry.script.size()) return *tokenizer_->vocabulary()->eos();
  return static_cast<unsigned char>(entry.script[position]);
}

ServedModel FakeModel::served() {
  ServedModel model;
  model.name = "fake";
  model.shape.architecture = "fake";
  model.shape.numerics_version = "fake-1";
  model.shape.vocabulary_size = static_cast<uint32_t>(tokenizer_->vocabulary()->token_count());
  model.shape.context_train = options_.context_tokens;
  model.context_tokens = options_.context_tokens;
  model.port = this;
  const auto tokenizer = tokenizer_;
  model.text.encode = [tokenizer](std::string_view text, bool add_special, bool parse_special) {
    return base::Result(tokenizer->encode(text, parse_special, add_special));
  };
  model.text.render_chat = [](const json::object& variables) { return render(variables); };
  model.text.encode_chat = [tokenizer](const json::object& variables) -> base::Result<std::vector<TokenId>> {
    const auto text = render(variables);
    if (!text) return text.error();
    return tokenizer->encode(*text, false, true);
  };
  model.text.decode = [tokenizer](std::span<const TokenId> ids) {
    return text::decode_bytes(tokenizer->vocabulary(), ids, {});
  };
  model.text.token_bytes = [tokenizer](TokenId id) { return std::string(tokenizer->vocabulary()->piece(id)); };
  for (TokenId id = 0; tokenizer->vocabulary()->contains(id); ++id)
    if (tokenizer->vocabulary()->is_eog(id)) model.text.end_tokens.push_back(id);
  model.text.make_stop_detector = [tokenizer](
                                      const std::vector<std::string>& stops,
                                      bool ignore_eos) -> base::Result<std::unique_ptr<contract::StopDetector>> {
    auto stop_strings = text::StopStrings::create(stops);
    if (!stop_strings) return stop_strings.error();
    return std::unique_ptr<contract::StopDetector>(std::make_unique<text::OutputFilter>(
        tokenizer->vocabulary(), std::move(*stop_strings), text::OutputFilter::Options{ignore_eos, false}));
  };
  return model;
}

}  // namespace takt::server
