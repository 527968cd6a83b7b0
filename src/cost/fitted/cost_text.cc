// The cost file, written and read.
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <utility>

#include "cost/fitted/fitted_cost.h"

namespace takt::cost {
namespace {

constexpr std::string_view kHeader = "takt-cost 1";
constexpr size_t kQuantilesMax = 100'000;  // a line's length bounds it too; this one keeps the number honest

// The scalar coefficients with their names in the file.
constexpr std::array<std::pair<std::string_view, double CostCoefficients::*>, 7> kScalars = {{
    {"sampled_us", &CostCoefficients::sampled_us},
    {"sampled_block_us", &CostCoefficients::sampled_block_us},
    {"chunk_us", &CostCoefficients::chunk_us},
    {"pair_us", &CostCoefficients::pair_us},
    {"position_us", &CostCoefficients::position_us},
    {"host_fixed_us", &CostCoefficients::host_fixed_us},
    {"host_row_us", &CostCoefficients::host_row_us},
}};
constexpr std::array<std::string_view, kStepKindCount> kNoiseNames = {"noise_decode_only", "noise_with_prefill"};

std::string number(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;  // the shortest that reads back
  return {text.data(), end};
}

// Words of a line, from the left.
class Words {
 public:
  explicit Words(std::string_view rest) : rest_(rest) {}
  std::string_view next() {
    const size_t begin = rest_.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return rest_ = {};
    rest_.remove_prefix(begin);
    const std::string_view word = rest_.substr(0, rest_.find_first_of(" \t\r"));
    rest_.remove_prefix(word.size());
    return word;
  }

 private:
  std::string_view rest_;
};

template <class Number>
std::optional<Number> read_number(std::string_view word) {
  Number value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// Returns what is wrong with the line; empty when nothing is.
std::string read_line(std::string_view name, Words words, CostCoefficients& into) {
  if (name == "knot") {
    const auto tokens = read_number<int64_t>(words.next());
    const auto us = read_number<double>(words.next());
    if (!tokens || !us || !words.next().empty()) return "'knot TOKENS MICROSECONDS' expected";
    into.knots.push_back({*tokens, *us});
    return {};
  }
  for (const auto& [scalar_name, member] : kScalars) {
    if (name != scalar_name) continue;
    const auto us = read_number<double>(words.next());
    if (!us || !words.next().empty()) return "one number expected after '" + std::string(name) + "'";
    into.*member = *us;
    return {};
  }
  for (size_t kind = 0; kind < kNoiseNames.size(); ++kind) {
    if (name != kNoiseNames[kind]) continue;
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
      const auto ratio = read_number<double>(word);
      if (!ratio || into.noise[kind].size() == kQuantilesMax) return "'" + std::string(word) + "' is not a quantile";
      into.noise[kind].push_back(*ratio);
    }
    return {};
  }
  return "unknown name '" + std::string(name.substr(0, 20)) + "'";
}

}  // namespace

std::string to_text(const CostCoefficients& coefficients) {
  std::string text(kHeader);
  text +=
      "\n# step us = rows(tokens) + sampled x rows + block x ceil(rows / 16) + chunk x chunks + pair x pairs + "
      "position x positions\n";
  for (const CostKnot& knot : coefficients.knots) {
    text += "knot " + std::to_string(knot.tokens) + " " + number(knot.us) + "\n";
  }
  for (const auto& [name, member] : kScalars) text += std::string(name) + " " + number(coefficients.*member) + "\n";
  for (size_t kind = 0; kind < kNoiseNames.size(); ++kind) {
    text += kNoiseNames[kind];
    for (const double ratio : coefficients.noise[kind]) text += " " + number(ratio);
    text += "\n";
  }
  return text;
}

base::Result<CostCoefficients> parse_cost(std::string_view text) {
  CostCoefficients coefficients;
  uint64_t line_number = 0;
  const auto invalid = [&](const std::string& what) {
    return base::Error{base::ErrorCode::invalid_file, "line " + std::to_string(line_number) + ": " + what};
  };
  bool has_header = false;
  while (!text.empty()) {
    ++line_number;
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    Words words(line);
    const std::string_view name = words.next();
    if (name.empty() || name[0] == '#') continue;
    if (!has_header) {
      if (name != "takt-cost" || words.next() != "1") return invalid("'" + std::string(kHeader) + "' expected");
      has_header = true;
      continue;
    }
    if (const std::string what = read_line(name, words, coefficients); !what.empty()) return invalid(what);
  }
  if (!has_header) return invalid("'" + std::string(kHeader) + "' expected");
  if (base::Status status = check(coefficients); !status.ok()) return invalid(status.error().message);
  return coefficients;
}

}  // namespace takt::cost
