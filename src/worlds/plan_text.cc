#include "worlds/plan_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace takt::worlds {
namespace {

constexpr uint32_t kPositionMax = 1u << 24;  // the scheduler's own limit

// One word of the answer, read from the left.
class Word {
 public:
  explicit Word(std::string_view rest) : rest_(rest) {}
  bool try_take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  template <class Number>
  std::optional<Number> number() {
    Number value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{}) return std::nullopt;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  // What may follow the work: page numbers and the like.
  bool is_at_end() const { return rest_.empty() || rest_[0] == '+' || rest_[0] == '^'; }

 private:
  std::string_view rest_;
};

// "1[0,128)last+0+1"
bool read_chunk(Word word, contract::StepPlan& plan) {
  contract::PrefillChunk chunk;
  const auto id = word.number<uint64_t>();
  const bool has_begin = word.try_take("[");
  const auto begin = word.number<uint32_t>();
  const bool has_comma = word.try_take(",");
  const auto end = word.number<uint32_t>();
  if (!id || !has_begin || !begin || !has_comma || !end || !word.try_take(")") || *end <= *begin || *end > kPositionMax)
    return false;
  chunk.request = contract::RequestId{*id};
  chunk.begin = *begin;
  chunk.end = *end;
  chunk.is_last = word.try_take("last");
  plan.prefill_chunks.push_back(std::move(chunk));
  return word.is_at_end();
}

// "4@77~12~13+5"
bool read_row(Word word, contract::StepPlan& plan) {
  contract::DecodeRow row;
  const auto id = word.number<uint64_t>();
  const bool has_at = word.try_take("@");
  const auto position = word.number<uint32_t>();
  if (!id || !has_at || !position || *position > kPositionMax) return false;
  row.request = contract::RequestId{*id};
  row.position = *position;
  while (word.try_take("~")) {
    const auto token = word.number<contract::TokenId>();
    if (!token) return false;
    row.draft_tokens.push_back(*token);
  }
  plan.decode_rows.push_back(std::move(row));
  return word.is_at_end();
}

bool read_word(std::string_view text, contract::StepPlan& plan) {
  Word word(text);
  if (word.try_take("step=")) {
    const auto step = word.number<uint64_t>();
    plan.step = step.value_or(0);
    return step && *step > 0;
  }
  if (word.try_take("wake=")) {
    const auto time = word.number<int64_t>();
    if (time) plan.wake_at = base::Micros(*time);
    return time.has_value();
  }
  if (word.try_take("preempt:")) {
    const auto id = word.number<uint64_t>();
    if (id) plan.preempted.push_back(contract::RequestId{*id});
    return id.has_value();
  }
  if (word.try_take("prefill:")) return read_chunk(word, plan);
  if (word.try_take("decode:")) return read_row(word, plan);
  return true;
}

}  // namespace

base::Result<contract::StepPlan> parse_plan_work(std::string_view answer) {
  contract::StepPlan plan;
  const auto invalid = [](std::string what) { return base::Error{base::ErrorCode::invalid_file, std::move(what)}; };
  if (!answer.starts_with("step=") && !answer.starts_with("idle")) return invalid("'step=' or 'idle' expected");
  while (!answer.empty()) {
    const std::string_view text = answer.substr(0, answer.find(' '));
    answer.remove_prefix(std::min(answer.size(), text.size() + 1));
    if (!read_word(text, plan)) return invalid("'" + std::string(text.substr(0, 40)) + "' is not work of a step");
  }
  if (plan.has_work() != (plan.step > 0)) return invalid("a step without work, or work without a step");
  return plan;
}

}  // namespace takt::worlds
