#include "text/bpe/pre_tokenizer_table.h"

#include <array>
#include <string>

namespace takt::text::bpe {
namespace {

// English contractions, in lower case only and in any case. The case is spelled out: caseless matching would also take U+017F,
// the long s.
#define TAKT_CONTRACTIONS "'s|'t|'re|'ve|'m|'ll|'d"
#define TAKT_ANY_CASE_CONTRACTIONS "'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])"
// White space before a word leaves its last character to the word.
#define TAKT_SPACES "\\s+(?!\\S)|\\s+"
#define TAKT_LINES_AND_SPACES "\\s*[\\r\\n]+|" TAKT_SPACES
#define TAKT_GPT2 TAKT_CONTRACTIONS "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|" TAKT_SPACES
// Letters by case, for the families that split "camelCase".
#define TAKT_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define TAKT_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define TAKT_NOT_WORD "[^\\r\\n\\p{L}\\p{N}]?"
#define TAKT_CASED_WORDS(suffix) \
  TAKT_NOT_WORD TAKT_UPPER "*" TAKT_LOWER "+" suffix "|" TAKT_NOT_WORD TAKT_UPPER "+" TAKT_LOWER "*" suffix
#define TAKT_ASCII_PUNCTUATION "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~]"

constexpr std::string_view kGpt2[] = {TAKT_GPT2};

constexpr std::string_view kDigitThenGpt2[] = {"\\p{N}", TAKT_GPT2};

constexpr std::string_view kLlama3[] = {TAKT_ANY_CASE_CONTRACTIONS "|" TAKT_NOT_WORD
                                        "\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" TAKT_LINES_AND_SPACES};

constexpr std::string_view kQwen2[] = {TAKT_ANY_CASE_CONTRACTIONS "|" TAKT_NOT_WORD
                                       "\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" TAKT_LINES_AND_SPACES};

constexpr std::string_view kQwen35[] = {
    TAKT_ANY_CASE_CONTRACTIONS "|" TAKT_NOT_WORD
    "[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" TAKT_LINES_AND_SPACES};

// "\s+$" of the original, with a look behind: without it every start inside a run of white space would be tried to the end.
constexpr std::string_view kDeepseekLlm[] = {
    "[\\r\\n]",
    "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼ"
    "\\x{1FBE}ῂ-ῄῆ-ῌῐ-\\x{1FD3}ῖ-\\x{1FDB}ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\\x{2126}ℨ\\x{212A}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ"
    "\\x{10400}-\\x{1044F}\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}"
    "\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}]+",
    "\\s?[!-/:-~！-／：-～‘-‟\\x{3000}-。]+",
    "(?<!\\s)\\s+$",
    "[一-龥ࠀ-一가-\\x{D7FF}]+",
    "\\p{N}+"};

constexpr std::string_view kDeepseekCoder[] = {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[一-龥ࠀ-一가-\\x{D7FF}]+", "\\p{N}"};

constexpr std::string_view kDeepseekV3[] = {
    "\\p{N}{1,3}", "[一-龥\\x{3040}-ゟ゠-ヿ]+",
    TAKT_ASCII_PUNCTUATION "[A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|"
    TAKT_LINES_AND_SPACES};

constexpr std::string_view kFalcon[] = {"[\\p{P}$+<=>^~|`]+", TAKT_GPT2, "[0-9][0-9][0-9]"};

constexpr std::string_view kBloom[] = {" ?[^(\\s|.,!?…。，、।۔،)]+"};

constexpr std::string_view kViking[] = {" ?[^(\\s|.,!?…。，、।۔،)]+", "\\p{N}"};

constexpr std::string_view kTekken[] = {TAKT_CASED_WORDS("")
                                        "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" TAKT_LINES_AND_SPACES};

constexpr std::string_view kO200k[] = {TAKT_CASED_WORDS("(?:" TAKT_ANY_CASE_CONTRACTIONS ")?")
                                       "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" TAKT_LINES_AND_SPACES};

struct Entry {
  std::string_view name;
  PreTokenizerSpec spec;
};

constexpr Entry kTable[] = {
    {"gpt-2", {kGpt2}},
    {"phi-2", {kGpt2}},
    {"mpt", {kGpt2}},
    {"olmo", {kGpt2}},
    {"jais", {kGpt2}},
    {"exaone4", {kGpt2}},
    {"gigachat", {kGpt2}},
    {"a.x-4.0", {kGpt2}},
    {"mellum", {kGpt2}},
    {"trillion", {kGpt2}},
    {"granite-docling", {kGpt2}},
    {"starcoder", {kDigitThenGpt2}},
    {"refact", {kDigitThenGpt2}},
    {"command-r", {kDigitThenGpt2}},
    {"smollm", {kDigitThenGpt2}},
    {"codeshell", {kDigitThenGpt2}},
    {"exaone", {kDigitThenGpt2}},
    {"minerva-7b", {kDigitThenGpt2}},
    {"mellum2", {kDigitThenGpt2}},
    {"llama-bpe", {kLlama3, /*is_whole_word_first=*/true, /*add_bos=*/true}},
    {"llama3", {kLlama3, true, true}},
    {"llama-v3", {kLlama3, true, true}},
    {"falcon3", {kLlama3, true, true}},
    {"falcon-h1", {kLlama3, true, true}},
    {"pixtral", {kLlama3, true, true}},
    {"midm-2.0", {kLlama3, true, true}},
    {"lfm2", {kLlama3, true, true}},
    {"dbrx", {kLlama3}},
    {"smaug-bpe", {kLlama3}},
    {"glm4", {kLlama3}},
    {"chatglm-bpe", {kLlama3}},
    {"qwen2", {kQwen2}},
    {"deepseek-r1-qwen", {kQwen2}},
    {"stablelm2", {kQwen2}},
    {"hunyuan", {kQwen2}},
    {"megrez", {kQwen2}},
    {"grok-2", {kQwen2}},
    {"solar-open", {kQwen2}},
    {"qwen35", {kQwen35}},
    {"deepseek-llm", {kDeepseekLlm}},
    {"deepseek-coder", {kDeepseekCoder}},
    {"deepseek-v3", {kDeepseekV3}},
    {"hunyuan-dense", {kDeepseekV3}},
    {"falcon", {kFalcon}},
    {"bloom", {kBloom}},
    {"poro-chat", {kBloom}},
    {"gpt3-finnish", {kBloom}},
    {"viking", {kViking}},
    {"tekken", {kTekken, true, true}},
    {"gpt-4o", {kO200k}},
    {"llama4", {kO200k}},
    {"kanana2", {kO200k}},
    {"minimax-m2", {kO200k}},
};

constexpr auto kNames = [] {
  std::array<std::string_view, std::size(kTable)> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kTable[i].name;
  return names;
}();

}  // namespace

base::Result<const PreTokenizerSpec*> find_pre_tokenizer(std::string_view name) {
  for (const Entry& entry : kTable) {
    if (entry.name == name) return &entry.spec;
  }
  std::string message = name.empty() ? "tokenizer.ggml.pre is missing, so the splitting of words is unknown"
                                     : "tokenizer.ggml.pre is \"" + std::string(name) + "\", which Takt does not know";
  message += "; known are";
  for (const std::string_view known : kNames) (message += known == kNames[0] ? " " : ", ") += known;
  return base::Error{base::ErrorCode::unsupported, std::move(message)};
}

std::span<const std::string_view> pre_tokenizer_names() { return kNames; }

}  // namespace takt::text::bpe
