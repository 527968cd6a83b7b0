#include "load/stream_reader.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>

namespace takt::apps {
namespace {

namespace json = boost::json;

constexpr size_t kErrorTextMax = 300;
constexpr size_t kLineMax =
    size_t{1} << 26;  // no chunk of a sane server is longer; a line without end must not fill memory

const json::value* find(const json::value* value, std::string_view key) {
  if (value == nullptr || !value->is_object()) return nullptr;
  const json::value* found = value->get_object().if_contains(json::string_view(key.data(), key.size()));
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::optional<int64_t> count_of(const json::value* value) {
  if (value == nullptr || !value->is_number()) return {};
  json::error_code error;
  const auto count = value->to_number<int64_t>(error);
  if (error || count < 0) return {};
  return count;
}

std::string_view text_of(const json::value* value) {
  if (value == nullptr || !value->is_string()) return {};
  return {value->get_string().data(), value->get_string().size()};
}

void take_usage(const json::value* usage, Reply& reply) {
  if (const auto count = count_of(find(usage, "prompt_tokens"))) reply.prompt_tokens = count;
  if (const auto count = count_of(find(usage, "completion_tokens"))) reply.completion_tokens = count;
  if (const auto count = count_of(find(find(usage, "prompt_tokens_details"), "cached_tokens")))
    reply.cached_tokens = count;
}

// A role, an empty text and a reason to finish are no token; thoughts and calls of tools are.
bool take_choice(const json::value& choice, Reply& reply) {
  bool has_content = false;
  const json::value* delta = find(&choice, "delta");
  for (const std::string_view text : {text_of(find(&choice, "text")), text_of(find(delta, "content"))}) {
    reply.text += text;
    has_content = has_content || !text.empty();
  }
  for (const char* other : {"reasoning_content", "reasoning", "refusal"})
    has_content = has_content || !text_of(find(delta, other)).empty();
  has_content = has_content || find(delta, "tool_calls") != nullptr;
  if (const auto reason = text_of(find(&choice, "finish_reason")); !reason.empty()) reply.finish_reason = reason;
  return has_content;
}

}  // namespace

std::string error_text(std::string_view body) {
  json::error_code failure;
  const json::value value = json::parse(json::string_view(body.data(), body.size()), failure);
  if (!failure) {
    const json::value* error = find(&value, "error");
    for (const json::value* from : {find(error, "message"), error, find(&value, "message"), find(&value, "detail")})
      if (const auto text = text_of(from); !text.empty()) return std::string(text.substr(0, kErrorTextMax));
  }
  return std::string(body.substr(0, kErrorTextMax));
}

void StreamReader::feed(std::string_view bytes, base::Micros at) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    line_ += bytes.substr(0, end);
    if (line_.size() > kLineMax) {
      fail("bad stream", "a line of more than 64 MiB");
      line_.clear();
    }
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    take_line(line_, at);
    line_.clear();
  }
}

// https://html.spec.whatwg.org/multipage/server-sent-events.html: a line that begins with a colon is a comment, one space after the
// field's colon is dropped, several data lines are one event, an empty line ends it.
void StreamReader::take_line(std::string_view line, base::Micros at) {
  if (line.empty()) {
    if (!data_.empty()) take_event(data_, at);
    data_.clear();
    return;
  }
  if (!line.starts_with("data:")) return;
  line.remove_prefix(5);
  if (line.starts_with(' ')) line.remove_prefix(1);
  if (!data_.empty()) data_ += '\n';
  data_ += line;
}

void StreamReader::take_event(std::string_view data, base::Micros at) {
  if (data == "[DONE]") {
    is_done_ = true;
    return;
  }
  json::error_code failure;
  const json::value event = json::parse(json::string_view(data.data(), data.size()), failure);
  if (failure || !event.is_object()) return fail("bad stream", "not JSON: " + std::string(data.substr(0, 100)));
  if (find(&event, "error") != nullptr) return fail("error in stream", error_text(data));
  take_usage(find(&event, "usage"), reply_);
  bool has_content = false;
  if (const json::value* choices = find(&event, "choices"); choices != nullptr && choices->is_array()) {
    for (const json::value& choice : choices->get_array()) has_content = take_choice(choice, reply_) || has_content;
  }
  if (!has_content) return;
  ContentChunk chunk{at, count_of(find(find(&event, "usage"), "completion_tokens"))};
  if (!chunk.tokens_total) chunk.tokens_total = count_of(find(find(&event, "timings"), "predicted_n"));
  reply_.chunks.push_back(chunk);
}

void StreamReader::finish() {
  if (!line_.empty()) take_line(std::exchange(line_, ""), reply_.ended);
  take_line("", reply_.ended);  // some servers leave out the last empty line
  if (!is_done_ && reply_.finish_reason.empty()) fail("cut off", "the stream ended before the answer did");
  if (reply_.chunks.empty()) fail("no token", "the answer has no content");
}

void StreamReader::fail(const std::string& kind, const std::string& what) {
  if (!reply_.error_kind.empty()) return;
  reply_.error_kind = kind;
  reply_.error = what;
}

}  // namespace takt::apps
