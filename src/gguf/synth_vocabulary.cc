#include "gguf/synth_vocabulary.h"

#include <string_view>
#include <utility>

namespace takt::gguf {
namespace {

// Most frequent first, so that a small vocabulary still merges ordinary English text.
constexpr std::string_view kLetters = "etaoinshrdlucmfwypvbgkjqxz";

constexpr int32_t kNormal = 1, kUnknown = 2, kControl = 3, kByte = 6;

std::string utf8(uint32_t code_point) {  // below U+0800, or the three-byte range
  std::string out;
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xc0 | (code_point >> 6));
    out += static_cast<char>(0x80 | (code_point & 63));
  } else {
    out += static_cast<char>(0xe0 | (code_point >> 12));
    out += static_cast<char>(0x80 | ((code_point >> 6) & 63));
    out += static_cast<char>(0x80 | (code_point & 63));
  }
  return out;
}

// Byte-level BPE writes a byte as a printable character: itself when printable in Latin-1, else U+0100 and on, in
// byte order.
std::vector<std::string> byte_characters() {
  std::vector<std::string> characters;
  uint32_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool is_printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    characters.push_back(utf8(is_printable ? byte : next++));
  }
  return characters;
}

using Pair = std::pair<std::string, std::string>;

// The first `count` merges: space + letter, then letter + letter, then pair + pair, each along diagonals of falling
// frequency. All results are distinct, and both sides of a merge exist before it.
std::vector<Pair> merges_of_letters(const std::string& space, size_t count) {
  std::vector<Pair> merges;
  for (const char letter : kLetters) merges.emplace_back(space, std::string(1, letter));
  std::vector<std::string> pairs;
  for (size_t sum = 0; sum <= 2 * (kLetters.size() - 1); ++sum)
    for (size_t i = 0; i <= sum; ++i) {
      if (i >= kLetters.size() || sum - i >= kLetters.size()) continue;
      merges.emplace_back(std::string(1, kLetters[i]), std::string(1, kLetters[sum - i]));
      pairs.push_back(merges.back().first + merges.back().second);
    }
  for (size_t sum = 0; merges.size() < count && sum <= 2 * (pairs.size() - 1); ++sum)
    for (size_t i = 0; i <= sum && merges.size() < count; ++i)
      if (i < pairs.size() && sum - i < pairs.size()) merges.emplace_back(pairs[i], pairs[sum - i]);
  if (merges.size() > count) merges.resize(count);
  return merges;
}

// `open` and `close` are the special tokens around a turn.
std::string turn_template(const std::string& open, const std::string& close) {
  return "{% for message in messages %}{{ '" + open + "' + message['role'] + '\\n' + message['content'] + '" + close +
         "' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '" + open + "assistant\\n' }}{% endif %}";
}

void add(SynthVocabulary& vocabulary, std::string token, int32_t type) {
  vocabulary.tokens.push_back(std::move(token));
  vocabulary.types.push_back(type);
}

}  // namespace

SynthVocabulary synth_bpe_vocabulary(uint32_t token_count, const std::string& pre, bool is_bos_added) {
  SynthVocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = pre;
  const std::vector<std::string> bytes = byte_characters();
  for (const std::string& character : bytes) add(vocabulary, character, kNormal);
  constexpr size_t kSpecialCount = 3;
  for (const auto& [left, right] : merges_of_letters(bytes[' '], token_count - bytes.size() - kSpecialCount)) {
    vocabulary.merges.push_back(left + " " + right);
    add(vocabulary, left + right, kNormal);
  }
  vocabulary.bos_id = static_cast<uint32_t>(vocabulary.tokens.size());
  add(vocabulary, "<|endoftext|>", kControl);
  add(vocabulary, "<|im_start|>", kControl);
  vocabulary.eos_id = static_cast<uint32_t>(vocabulary.tokens.size());
  add(vocabulary, "<|im_end|>", kControl);
  vocabulary.is_bos_added = is_bos_added;
  vocabulary.chat_template = turn_template("<|im_start|>", "<|im_end|>");
  return vocabulary;
}

SynthVocabulary synth_spm_vocabulary(uint32_t token_count) {
  SynthVocabulary vocabulary;
  vocabulary.model = "llama";
  vocabulary.pre = "default";
  const std::string space = utf8(0x2581);  // how SPM writes a space
  add(vocabulary, "<pad>", kControl);
  add(vocabulary, "<eos>", kControl);
  add(vocabulary, "<bos>", kControl);
  add(vocabulary, "<unk>", kUnknown);
  add(vocabulary, "<start_of_turn>", kControl);
  add(vocabulary, "<end_of_turn>", kControl);
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte)
    add(vocabulary, std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">", kByte);
  vocabulary.scores.assign(vocabulary.tokens.size(), 0.0f);
  add(vocabulary, space, kNormal);
  for (char character = 33; character < 127; ++character) add(vocabulary, std::string(1, character), kNormal);
  for (const auto& [left, right] : merges_of_letters(space, token_count - vocabulary.tokens.size()))
    add(vocabulary, left + right, kNormal);
  // A piece's score is its rank: earlier ones merge first.
  while (vocabulary.scores.size() < vocabulary.tokens.size())
    vocabulary.scores.push_back(-static_cast<float>(vocabulary.scores.size()));
  vocabulary.eos_id = 1;
  vocabulary.bos_id = 2;
  vocabulary.is_bos_added = true;
  vocabulary.chat_template = "{{ bos_token }}" + turn_template("<start_of_turn>", "<end_of_turn>");
  return vocabulary;
}

}  // namespace takt::gguf
