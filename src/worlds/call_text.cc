#include "worlds/call_text.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace takt::worlds {
namespace {

using base::Error;
using base::ErrorCode;

// ---- writing ----

// Appends pieces to a line: strings as they are, numbers in decimal.
class Line {
 public:
  Line& operator<<(std::string_view text) {
    text_ += text;
    return *this;
  }
  template <class Number>
  requires std::is_integral_v<Number> Line& operator<<(Number number) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    text_.append(digits.data(), end);
    return *this;
  }
  Line& operator<<(base::Micros time) { return *this << time.count(); }
  Line& operator<<(base::Tokens tokens) { return *this << tokens.count(); }
  Line& operator<<(contract::RequestId id) { return *this << id.value; }
  Line& operator<<(const std::vector<contract::PageId>& pages) {
    for (const contract::PageId page : pages) *this << "+" << page.value;
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string_view name(contract::Phase phase) { return phase == contract::Phase::prefill ? "prefill" : "decode"; }

// ---- reading ----

constexpr uint64_t kNumberMax = uint64_t{1} << 60;
constexpr uint64_t kRepeatMax = 1 << 16;  // of "0*500": a short line makes no large prompt

Error invalid(std::string message) { return Error{ErrorCode::invalid_file, std::move(message)}; }

// Reads a line from the left. The first thing that does not fit sets the error; after that nothing matches any more.
class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) { skip_spaces(); }

  bool try_take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void expect(std::string_view text) {
    if (!try_take(text)) fail("'" + std::string(text) + "' expected");
  }
  std::string_view word() {
    const std::string_view taken = rest_.substr(0, rest_.find_first_of(" =+,*:"));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  uint64_t number(uint64_t max = kNumberMax) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{} || value > max) {
      fail("a number up to " + std::to_string(max) + " expected");
      return 0;
    }
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  contract::TokenId token() {  // negative ones too: a recording has what clients sent, refused later or not
    const bool is_negative = try_take("-");
    const auto value = static_cast<contract::TokenId>(number(INT32_MAX));
    return is_negative ? -value : value;
  }
  // " name=number": one field.
  uint64_t field(std::string_view field_name, uint64_t max = kNumberMax) {
    skip_spaces();
    expect(field_name);
    expect("=");
    return number(max);
  }
  bool try_field(std::string_view field_name) {
    skip_spaces();
    if (!rest_.starts_with(std::string(field_name) + "=")) return false;
    rest_.remove_prefix(field_name.size() + 1);
    return true;
  }
  void skip_spaces() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\r')) rest_.remove_prefix(1);
  }
  bool is_at_end() {
    skip_spaces();
    return rest_.empty();
  }
  void fail(const std::string& message) {
    if (!error_) error_ = invalid(message + " at '" + std::string(rest_.substr(0, 20)) + "'");
    rest_ = {};
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::string_view rest_;
  std::optional<Error> error_;
};

template <class Enum>
Enum read_name(Reader& reader, std::initializer_list<Enum> values) {
  const std::string_view word = reader.word();
  for (const Enum value : values) {
    if (contract::name(value) == word) return value;
  }
  reader.fail("unknown name '" + std::string(word) + "'");
  return *values.begin();
}

contract::ServiceClass read_class(Reader& reader) {
  using enum contract::ServiceClass;
  return read_name(reader, {interactive, batch, background});
}

contract::FinishReason read_finish(Reader& reader) {
  using enum contract::FinishReason;
  return read_name(reader, {stop, length, cancelled, error});
}

// "5,0,-1", with "0*500" for 500 tokens of id 0; may be empty.
std::vector<contract::TokenId> read_prompt(Reader& reader) {
  std::vector<contract::TokenId> prompt;
  if (reader.is_at_end()) return prompt;
  do {
    const contract::TokenId id = reader.token();
    const uint64_t count = reader.try_take("*") ? reader.number(kRepeatMax) : 1;
    if (prompt.size() + count > kPromptTokensMax) {
      reader.fail("the prompt is too long");
      return {};
    }
    prompt.insert(prompt.end(), count, id);
  } while (reader.try_take(","));
  return prompt;
}

void read_submit(Reader& reader, Call& call) {
  call.request.id = contract::RequestId{reader.field("id")};
  reader.skip_spaces();
  reader.expect("class=");
  call.request.service_class = read_class(reader);
  if (reader.try_field("tenant")) call.request.tenant = reader.number(UINT64_MAX);
  call.request.output_tokens_max = base::Tokens(static_cast<int64_t>(reader.field("outputs")));
  reader.skip_spaces();
  if (reader.try_take("cache=")) {
    reader.expect("unread");
    call.request.reads_prefix_cache = false;
  }
  reader.skip_spaces();
  reader.expect("prompt=");
  call.request.prompt = std::make_shared<const std::vector<contract::TokenId>>(read_prompt(reader));
}

void read_absorb(Reader& reader, Call& call) {
  call.result.step = reader.field("step");
  call.result.duration = base::Micros(static_cast<int64_t>(reader.field("us")));
  while (!reader.is_at_end()) {
    contract::RowResult row;
    row.phase = reader.try_take("prefill:") ? contract::Phase::prefill : contract::Phase::decode;
    if (row.phase == contract::Phase::decode) reader.expect("decode:");
    row.request = contract::RequestId{reader.number()};
    reader.expect("+");
    row.tokens_accepted = static_cast<uint32_t>(reader.number(UINT32_MAX));
    if (reader.try_take(":")) {
      do {
        row.tokens.push_back(reader.token());
      } while (reader.try_take(","));
      if (row.tokens.size() != row.tokens_accepted) reader.fail("as many ids as tokens expected");
    }
    if (reader.try_take("=")) row.finish = read_finish(reader);
    call.result.rows.push_back(row);
  }
}

}  // namespace

std::string to_text(const contract::Capacity& capacity) {
  Line line;
  line << "capacity page_count=" << capacity.page_count << " page_tokens=" << capacity.page_tokens
       << " context_tokens=" << capacity.context_tokens << " rows_max=" << capacity.rows_max
       << " waiting_requests_max=" << capacity.waiting_requests_max
       << " waiting_tokens_max=" << capacity.waiting_tokens_max << " step_tokens_max=" << capacity.step_tokens_max
       << " chunk_tokens_beside_decode=" << capacity.chunk_tokens_beside_decode;
  if (capacity.has_prefix_cache) line << " prefix_cache=on";
  return line.take();
}

std::string to_text(const contract::ServicePolicy& policy) {
  Line line;
  line << "policy step_us_max=" << policy.step_us_max
       << " late=" << (policy.late_admission == contract::LateAdmission::refuse ? "refuse" : "accept");
  for (const contract::ServiceClass service_class : contract::kServiceClasses) {
    const contract::ClassLimits& limits = policy.of(service_class);
    const std::string_view class_name = contract::name(service_class);
    if (limits.ttft_max) line << " " << class_name << ":ttft=" << *limits.ttft_max;
    if (limits.itl_max) line << " " << class_name << ":itl=" << *limits.itl_max;
    if (limits.decode_rows_reserved > 0) line << " " << class_name << ":rows=" << limits.decode_rows_reserved;
  }
  return line.take();
}

std::string to_text(const contract::Admission& admission) {
  Line line;
  if (admission.is_accepted) {
    line << "accepted outputs=" << admission.output_tokens_max;
    if (admission.predicted_ttft) line << " ttft=" << *admission.predicted_ttft;
    if (admission.predicted_finish) line << " finish=" << *admission.predicted_finish;
  } else {
    line << "refused " << base::name(admission.refusal) << " " << admission.reason;
  }
  return line.take();
}

std::string to_text(const contract::StepPlan& plan) {
  Line line;
  if (!plan.has_work()) {
    line << "idle";
    if (plan.wake_at) line << " wake=" << *plan.wake_at;
  } else {
    line << "step=" << plan.step;
  }
  for (const contract::RequestId id : plan.preempted) line << " preempt:" << id;
  for (const contract::PageCopy& copy : plan.page_copies) line << " copy:" << copy.from.value << ">" << copy.to.value;
  for (const contract::PrefillChunk& chunk : plan.prefill_chunks) {
    line << " prefill:" << chunk.request << "[" << chunk.begin << "," << chunk.end << ")"
         << (chunk.is_last ? "last" : "") << chunk.pages_added;
  }
  for (const contract::DecodeRow& row : plan.decode_rows) {
    line << " decode:" << row.request << "@" << row.position;
    for (const contract::TokenId token : row.draft_tokens) line << "~" << token;
    line << row.pages_added;
  }
  return line.take();
}

std::string to_text_submit(const contract::Request& request, base::Micros now) {
  Line line;
  line << "submit " << now << " id=" << request.id << " class=" << contract::name(request.service_class);
  if (request.tenant != 0) line << " tenant=" << request.tenant;
  line << " outputs=" << request.output_tokens_max;
  if (!request.reads_prefix_cache) line << " cache=unread";
  line << " prompt=";
  std::string_view separator;
  if (request.prompt) {
    for (const contract::TokenId token : *request.prompt) {
      line << separator << token;
      separator = ",";
    }
  }
  return line.take();
}

std::string to_text_cancel(contract::RequestId id, base::Micros now) {
  return (Line() << "cancel " << now << " id=" << id).take();
}

std::string to_text_next(base::Micros now) { return (Line() << "next " << now).take(); }

std::string to_text_absorb(const contract::StepResult& result, base::Micros now) {
  Line line;
  line << "absorb " << now << " step=" << result.step << " us=" << result.duration;
  for (const contract::RowResult& row : result.rows) {
    line << " " << name(row.phase) << ":" << row.request << "+" << row.tokens_accepted;
    for (size_t i = 0; i < row.tokens.size(); ++i) line << (i == 0 ? ":" : ",") << row.tokens[i];
    if (row.finish != contract::FinishReason::none) line << "=" << contract::name(row.finish);
  }
  return line.take();
}

std::string to_text_counts(const contract::Bounds& bounds) {
  Line line;
  line << "waiting=" << bounds.waiting_requests << " waiting_tokens=" << bounds.waiting_tokens
       << " prefilling=" << bounds.prefilling_requests << " decoding=" << bounds.decoding_requests
       << " pages_used=" << bounds.pages_used << " pages_free=" << bounds.pages_free
       << " preemptions=" << bounds.preemptions;
  return line.take();
}

std::string to_text_times(const contract::Bounds& bounds) {
  return (Line() << "gap_max=" << bounds.gap_max << " prompt_wait_max=" << bounds.prompt_wait_max).take();
}

std::string to_text_cache(const contract::Bounds& bounds) {
  Line line;
  line << "pages_cached=" << bounds.pages_cached << " asked=" << bounds.prefix_tokens_asked
       << " hit=" << bounds.prefix_tokens_hit << " evicted=" << bounds.prefix_pages_evicted
       << " lost=" << bounds.preempted_tokens_lost;
  return line.take();
}

base::Result<contract::Capacity> parse_capacity(std::string_view line) {
  Reader reader(line);
  contract::Capacity capacity;
  reader.expect("capacity");
  const auto read = [&](std::string_view field_name, uint32_t& value) {
    value = static_cast<uint32_t>(reader.field(field_name, UINT32_MAX));
  };
  read("page_count", capacity.page_count);
  read("page_tokens", capacity.page_tokens);
  read("context_tokens", capacity.context_tokens);
  read("rows_max", capacity.rows_max);
  read("waiting_requests_max", capacity.waiting_requests_max);
  capacity.waiting_tokens_max = base::Tokens(static_cast<int64_t>(reader.field("waiting_tokens_max")));
  read("step_tokens_max", capacity.step_tokens_max);
  read("chunk_tokens_beside_decode", capacity.chunk_tokens_beside_decode);
  reader.skip_spaces();
  capacity.has_prefix_cache = reader.try_take("prefix_cache=on");
  if (!reader.is_at_end()) reader.fail("the end of the line expected");
  if (reader.error()) return *reader.error();
  return capacity;
}

base::Result<contract::ServicePolicy> parse_policy(std::string_view line) {
  Reader reader(line);
  contract::ServicePolicy policy;
  reader.expect("policy");
  policy.step_us_max = base::Micros(static_cast<int64_t>(reader.field("step_us_max")));
  reader.skip_spaces();
  reader.expect("late=");
  policy.late_admission = reader.try_take("refuse") ? contract::LateAdmission::refuse : contract::LateAdmission::accept;
  if (policy.late_admission == contract::LateAdmission::accept) reader.expect("accept");
  while (!reader.is_at_end()) {
    contract::ClassLimits& limits = policy.of(read_class(reader));
    if (reader.try_take(":ttft=")) {
      limits.ttft_max = base::Micros(static_cast<int64_t>(reader.number()));
    } else if (reader.try_take(":itl=")) {
      limits.itl_max = base::Micros(static_cast<int64_t>(reader.number()));
    } else {
      reader.expect(":rows=");
      limits.decode_rows_reserved = static_cast<uint32_t>(reader.number(UINT32_MAX));
    }
  }
  if (reader.error()) return *reader.error();
  return policy;
}

base::Result<Call> parse_call(std::string_view line) {
  Reader reader(line);
  Call call;
  const std::string_view verb = reader.word();
  reader.skip_spaces();
  const bool is_question = verb == "bounds" || verb == "times" || verb == "cache";
  if (is_question) {
    call.kind = verb == "bounds" ? Call::Kind::bounds : verb == "times" ? Call::Kind::times : Call::Kind::cache;
  } else {
    call.now = base::Micros(static_cast<int64_t>(reader.number()));
  }
  if (verb == "submit") {
    call.kind = Call::Kind::submit;
    read_submit(reader, call);
  } else if (verb == "cancel") {
    call.kind = Call::Kind::cancel;
    call.request.id = contract::RequestId{reader.field("id")};
  } else if (verb == "absorb") {
    call.kind = Call::Kind::absorb;
    read_absorb(reader, call);
  } else if (verb != "next" && !is_question) {
    return invalid("unknown call '" + std::string(verb.substr(0, 20)) + "'");
  }
  if (!reader.is_at_end()) reader.fail("the end of the line expected");
  if (reader.error()) return *reader.error();
  return call;
}

}  // namespace takt::worlds
