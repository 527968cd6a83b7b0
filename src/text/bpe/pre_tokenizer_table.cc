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
// The ranges of DeepSeek's tokenizers: U+0800 to U+9FA5 and Hangul.
#define TAKT_ASIAN_RUN "[\\x{800}-\\x{9FA5}\\x{AC00}-\\x{D7FF}]+"
// Bloom's: everything but white space, parentheses and full stops and commas of several scripts (the bar is literal).
#define TAKT_BLOOM " ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C})]+"

constexpr std::string_view kGpt2[] = {TAKT_GPT2};

constexpr std::string_view kDigitThenGpt2[] = {"\\p{N}", TAKT_GPT2};

constexpr std::string_view kLlama3[] = {TAKT_ANY_CASE_CONTRACTIONS
                                        "|" TAKT_NOT_WORD
                                        "\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" TAKT_LINES_AND_SPACES};

constexpr std::string_view kQwen2[] = {TAKT_ANY_CASE_CONTRACTIONS
                                       "|" TAKT_NOT_WORD
                                       "\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" TAKT_LINES_AND_SPACES};

constexpr std::string_view kQwen35[] = {
    TAKT_ANY_CASE_CONTRACTIONS "|" TAKT_NOT_WORD
                               "[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" TAKT_LINES_AND_SPACES};

// "\s+$" of the original, with a look behind: without it every start inside a run of white space would be tried to the end.
constexpr std::string_view kDeepseekLlm[] = {
    "[\\r\\n]",
    "\\s?[A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}\\x{1C4}-\\x{293}"
    "\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}"
    "\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}"
    "\\x{13A0}-\\x{13F5}\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}"
    "\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}"
    "\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}"
    "\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}"
    "\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}\\x{210A}-\\x{2113}\\x{2115}"
    "\\x{2119}-\\x{211D}\\x{2124}\\x{2126}\\x{2128}\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}\\x{2139}"
    "\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}"
    "\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}"
    "\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}"
    "\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}"
    "\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}]+",
    "\\s?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}]+",
    "(?<!\\s)\\s+$",
    TAKT_ASIAN_RUN,
    "\\p{N}+"};

constexpr std::string_view kDeepseekCoder[] = {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", TAKT_ASIAN_RUN, "\\p{N}"};

constexpr std::string_view kDeepseekV3[] = {
    "\\p{N}{1,3}", "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{30FF}]+",
    TAKT_ASCII_PUNCTUATION
    "[A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|" TAKT_LINES_AND_SPACES};

constexpr std::string_view kFalcon[] = {"[\\p{P}$+<=>^~|`]+", TAKT_GPT2, "[0-9][0-9][0-9]"};

constexpr std::string_view kBloom[] = {TAKT_BLOOM};

constexpr std::string_view kViking[] = {TAKT_BLOOM, "\\p{N}"};

constexpr std::string_view kTekken[] = {
    TAKT_CASED_WORDS("") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" TAKT_LINES_AND_SPACES};

constexpr std::string_view kO200k[] = {TAKT_CASED_WORDS(
    "(?:" TAKT_ANY_CASE_CONTRACTIONS ")?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" TAKT_LINES_AND_SPACES};

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
