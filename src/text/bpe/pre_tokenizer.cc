#include "text/bpe/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <string>
#include <utility>

#include "text/utf8.h"

namespace takt::text::bpe {
namespace {

// Unicode's White_Space. PCRE2's own \s has U+180E besides, which the tokenizers' authors' engines do not.
constexpr std::string_view kWhiteSpace =
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";

// Writes \s and \S out, inside a class and outside. \S inside a class does not occur in the table.
std::string expand_white_space(std::string_view pattern) {
  std::string out;
  bool is_in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char escaped = pattern[++i];
      if (escaped == 's' && is_in_class) {
        out.append(kWhiteSpace);
      } else if (escaped == 's' || escaped == 'S') {
        out.append(escaped == 's' ? "[" : "[^").append(kWhiteSpace).append("]");
      } else {
        out.append({c, escaped});
      }
      continue;
    }
    if (c == '[') is_in_class = true;
    if (c == ']') is_in_class = false;
    out.push_back(c);
  }
  return out;
}

// Steps the interpreter or the compiled code may take in one search: a search through n bytes of white space costs about 3 n.
uint32_t match_limit(size_t text_bytes) {
  return static_cast<uint32_t>(std::min<uint64_t>(10'000'000 + 16 * uint64_t{text_bytes}, 0xFFFFFFFFu));
}

struct FreeMatchData {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct FreeMatchContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};

}  // namespace

class PreTokenizer::Pattern {
 public:
  static base::Result<Pattern> compile(std::string_view source) {
    const std::string pattern = expand_white_space(source);
    int error = 0;
    PCRE2_SIZE error_at = 0;
    pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                     PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY, &error, &error_at, nullptr);
    if (code == nullptr) {
      PCRE2_UCHAR message[256];
      pcre2_get_error_message(error, message, sizeof message);
      return base::Error{base::ErrorCode::internal, "pre-tokenizer pattern refused at byte " +
                                                        std::to_string(error_at) + ": " +
                                                        reinterpret_cast<const char*>(message)};
    }
    Pattern result;
    result.code_.reset(code);
    result.has_jit_ = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
    return result;
  }

  // One search from `start`; the result is PCRE2's.
  int search(std::string_view text, size_t start, pcre2_match_data* data, pcre2_match_context* context) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    if (has_jit_) return pcre2_jit_match(code_.get(), subject, text.size(), start, PCRE2_NOTEMPTY, data, context);
    return pcre2_match(code_.get(), subject, text.size(), start, PCRE2_NOTEMPTY | PCRE2_NO_UTF_CHECK, data, context);
  }

 private:
  std::unique_ptr<pcre2_code, FreeCode> code_;
  bool has_jit_ = false;
};

// One call of split().
class PreTokenizer::Run {
 public:
  Run(const std::vector<Pattern>& patterns, size_t text_bytes, Sink& sink)
      : patterns_(patterns),
        sink_(sink),
        data_(pcre2_match_data_create(1, nullptr)),
        context_(pcre2_match_context_create(nullptr)) {
    if (context_) pcre2_set_match_limit(context_.get(), match_limit(text_bytes));
  }

  // Precondition: `text` is UTF-8. The depth of the recursion is the number of patterns.
  void split(std::string_view text, size_t pattern_index) {
    if (text.empty()) return;
    if (pattern_index == patterns_.size()) return sink_.piece(text);
    const Pattern& pattern = patterns_[pattern_index];
    size_t at = 0;
    while (at < text.size()) {
      const int found = data_ ? pattern.search(text, at, data_.get(), context_.get()) : PCRE2_ERROR_NOMEMORY;
      if (found < 0) {
        if (found != PCRE2_ERROR_NOMATCH) ++failure_count_;
        break;
      }
      const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data_.get());
      const size_t begin = bounds[0], end = bounds[1];
      split(text.substr(at, begin - at), pattern_index + 1);
      split(text.substr(begin, end - begin), pattern_index + 1);
      at = end;
    }
    split(text.substr(at), pattern_index + 1);
  }

  uint64_t failure_count() const { return failure_count_; }

 private:
  const std::vector<Pattern>& patterns_;
  Sink& sink_;
  std::unique_ptr<pcre2_match_data, FreeMatchData> data_;
  std::unique_ptr<pcre2_match_context, FreeMatchContext> context_;
  uint64_t failure_count_ = 0;
};

PreTokenizer::PreTokenizer() = default;
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

base::Result<PreTokenizer> PreTokenizer::create(const PreTokenizerSpec& spec) {
  PreTokenizer result;
  for (const std::string_view source : spec.patterns) {
    auto pattern = Pattern::compile(source);
    if (!pattern) return std::move(pattern.error());
    result.patterns_.push_back(std::move(*pattern));
  }
  return result;
}

uint64_t PreTokenizer::split(std::string_view text, Sink& sink) const {
  Run run(patterns_, text.size(), sink);
  while (!text.empty()) {
    const size_t valid = utf8_valid_prefix(text);
    run.split(text.substr(0, valid), 0);
    text.remove_prefix(valid);
    const size_t invalid = utf8_invalid_prefix(text);
    if (invalid > 0) sink.piece(text.substr(0, invalid));
    text.remove_prefix(invalid);
  }
  return run.failure_count();
}

}  // namespace takt::text::bpe
