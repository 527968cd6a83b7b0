#include "worlds/sim/trace_files.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace takt::worlds {
namespace {

// No trace has longer ones; sums of them stay far from overflow.
constexpr int64_t kTokensMax = 1 << 24;
constexpr int64_t kTimeMsMax = int64_t{1} << 50;

base::Error invalid(uint64_t line, const std::string& what) {
  return {base::ErrorCode::invalid_file, "line " + std::to_string(line) + ": " + what};
}

// A line from the left. What does not fit leaves it as it is.
class Text {
 public:
  explicit Text(std::string_view rest) : rest_(rest) {}
  bool try_take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  // Digits only, `digits` of them if given, `max` at most.
  std::optional<int64_t> number(int64_t max, size_t digits = 0) {
    const size_t length = digits > 0 ? digits : std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    const std::string_view text = rest_.substr(0, length);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || text[0] == '-' || error != std::errc{} || end != text.data() + length || value > max) return {};
    rest_.remove_prefix(length);
    return value;
  }
  // As number(), up to where the digits end; their count too.
  size_t digit_count() const { return std::min(rest_.find_first_not_of("0123456789"), rest_.size()); }
  void skip_spaces() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }
  bool try_word(std::string_view text) {
    skip_spaces();
    return try_take(text);
  }
  bool is_at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

bool try_line(std::istream& in, std::string& line) {
  if (!std::getline(in, line)) return false;
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

// "2023-11-16 18:15:46.6805900": microseconds since 1970.
std::optional<int64_t> read_time(Text& text) {
  const auto year = text.number(9999, 4);
  const auto month = text.try_take("-") ? text.number(12, 2) : std::nullopt;
  const auto day = text.try_take("-") ? text.number(31, 2) : std::nullopt;
  const auto hour = text.try_take(" ") ? text.number(23, 2) : std::nullopt;
  const auto minute = text.try_take(":") ? text.number(59, 2) : std::nullopt;
  const auto second = text.try_take(":") ? text.number(59, 2) : std::nullopt;
  if (!year || !month || !day || !hour || !minute || !second) return {};
  using namespace std::chrono;
  const year_month_day date{std::chrono::year(static_cast<int>(*year)),
                            std::chrono::month(static_cast<unsigned>(*month)),
                            std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return {};
  int64_t us = 0;
  if (text.try_take(".")) {
    const size_t digits = text.digit_count();
    const auto fraction = digits <= 9 ? text.number(999'999'999) : std::nullopt;
    if (!fraction) return {};
    us = *fraction;
    for (size_t i = digits; i < 6; ++i) us *= 10;
    for (size_t i = 6; i < digits; ++i) us /= 10;
  }
  const int64_t days = sys_days(date).time_since_epoch().count();
  return ((days * 24 + *hour) * 60 + *minute) * 60'000'000 + *second * 1'000'000 + us;
}

// One object of Mooncake's, its fields in any order.
struct MooncakeLine {
  std::optional<int64_t> timestamp, input_length, output_length;
  std::optional<std::vector<uint32_t>> hash_ids;
};

std::optional<std::vector<uint32_t>> read_hashes(Text& text) {
  std::vector<uint32_t> hashes;
  if (!text.try_word("[")) return {};
  if (text.try_word("]")) return hashes;
  do {
    text.skip_spaces();
    const auto hash = text.number(UINT32_MAX);
    if (!hash) return {};
    hashes.push_back(static_cast<uint32_t>(*hash));
  } while (text.try_word(","));
  if (!text.try_word("]")) return {};
  return hashes;
}

// Returns what is wrong; empty when nothing is.
std::string read_fields(Text text, MooncakeLine& into) {
  if (!text.try_word("{")) return "'{' expected";
  do {
    std::optional<int64_t>* number = nullptr;
    const char* name = "";
    if (text.try_word("\"timestamp\"")) {
      number = &into.timestamp, name = "timestamp";
    } else if (text.try_word("\"input_length\"")) {
      number = &into.input_length, name = "input_length";
    } else if (text.try_word("\"output_length\"")) {
      number = &into.output_length, name = "output_length";
    } else if (!text.try_word("\"hash_ids\"")) {
      return "a field expected: timestamp, input_length, output_length or hash_ids";
    }
    if (!text.try_word(":")) return "':' expected";
    text.skip_spaces();
    if (number) {
      if (number->has_value()) return std::string(name) + " occurs twice";
      *number = text.number(kTimeMsMax);
      if (!number->has_value()) return std::string(name) + " is not a whole number from 0 on";
    } else {
      if (into.hash_ids) return "hash_ids occurs twice";
      into.hash_ids = read_hashes(text);
      if (!into.hash_ids) return "hash_ids is not a list of numbers";
    }
  } while (text.try_word(","));
  if (!text.try_word("}")) return "'}' expected";
  text.skip_spaces();
  return text.is_at_end() ? "" : "the end of the line expected";
}

std::string check_fields(const MooncakeLine& line) {
  if (!line.timestamp) return "timestamp is missing";
  if (!line.input_length) return "input_length is missing";
  if (!line.output_length) return "output_length is missing";
  if (!line.hash_ids) return "hash_ids is missing";
  if (*line.input_length < 1 || *line.input_length > kTokensMax) return "input_length is not in [1, 16777216]";
  if (*line.output_length > kTokensMax) return "output_length is not in [0, 16777216]";
  const auto blocks = static_cast<size_t>((*line.input_length + kPromptBlockTokens - 1) / kPromptBlockTokens);
  if (line.hash_ids->size() != blocks) {
    return std::to_string(line.hash_ids->size()) + " hash_ids, but " + std::to_string(*line.input_length) +
           " tokens are " + std::to_string(blocks) + " blocks of 512";
  }
  return {};
}

}  // namespace

base::Result<std::vector<Arrival>> parse_azure_csv(std::istream& in) {
  std::vector<Arrival> arrivals;
  std::string line;
  uint64_t number = 1;
  if (!try_line(in, line) || line != "TIMESTAMP,ContextTokens,GeneratedTokens") {
    return invalid(number, "'TIMESTAMP,ContextTokens,GeneratedTokens' expected");
  }
  int64_t origin = 0, before = 0;
  while (try_line(in, line)) {
    ++number;
    Text text(line);
    const auto time = read_time(text);
    if (!time) return invalid(number, "a time like 2023-11-16 18:15:46.6805900 expected");
    const auto prompt = text.try_take(",") ? text.number(kTokensMax) : std::nullopt;
    if (!prompt || *prompt == 0) return invalid(number, "ContextTokens is not a whole number from 1 on");
    const auto output = text.try_take(",") ? text.number(kTokensMax) : std::nullopt;
    if (!output || *output == 0) return invalid(number, "GeneratedTokens is not a whole number from 1 on");
    if (!text.is_at_end()) return invalid(number, "the end of the line expected");
    if (arrivals.empty()) origin = before = *time;
    if (*time < before) return invalid(number, "the time is before that of the line above");
    before = *time;
    Arrival arrival;
    arrival.at = base::Micros(*time - origin);
    arrival.prompt_tokens = static_cast<uint32_t>(*prompt);
    arrival.output_tokens = arrival.output_tokens_max = static_cast<uint32_t>(*output);
    arrivals.push_back(std::move(arrival));
  }
  return arrivals;
}

base::Result<std::vector<Arrival>> parse_mooncake_jsonl(std::istream& in) {
  std::vector<Arrival> arrivals;
  std::string text;
  for (uint64_t number = 1; try_line(in, text); ++number) {
    MooncakeLine line;
    std::string what = read_fields(Text(text), line);
    if (what.empty()) what = check_fields(line);
    if (!what.empty()) return invalid(number, what);
    Arrival arrival;
    arrival.at = base::Micros(*line.timestamp * 1000);
    arrival.prompt_tokens = static_cast<uint32_t>(*line.input_length);
    arrival.output_tokens = arrival.output_tokens_max =
        static_cast<uint32_t>(std::max<int64_t>(*line.output_length, 1));
    arrival.blocks = std::make_shared<const std::vector<uint32_t>>(std::move(*line.hash_ids));
    arrivals.push_back(std::move(arrival));
  }
  return arrivals;
}

}  // namespace takt::worlds
