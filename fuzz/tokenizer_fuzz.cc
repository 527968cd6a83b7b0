// Any bytes through both tokenizers: nothing is lost, streamed and whole decoding agree, borders of segments do not matter.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/detokenizer.h"
#include "text/output_filter.h"
#include "text/small_vocabulary.h"
#include "text/stop_strings.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace {

using namespace takt::text;

void require(bool condition) {
  if (!condition) std::abort();
}

std::shared_ptr<const Tokenizer> make(VocabularyData data) {
  auto tokenizer = Tokenizer::create(std::move(data));
  require(tokenizer.ok());
  return *tokenizer;
}

void check_streaming(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, DecodeOptions options) {
  StreamDecoder decoder(tokenizer.vocabulary(), options);
  std::string joined;
  for (const TokenId id : ids) {
    const std::string chunk = decoder.push(id);
    require(utf8_valid_prefix(chunk) == chunk.size());
    joined += chunk;
  }
  joined += decoder.finish();
  require(joined == decode(tokenizer.vocabulary(), ids, options));
}

// The first bytes of the input choose a stop string out of the rest.
void check_stopping(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, std::string_view text) {
  const size_t size = text.empty() ? 0 : static_cast<uint8_t>(text[0]) % 8;
  const std::string stop(text.substr(text.size() / 2, size));
  auto stops = StopStrings::create(std::vector<std::string>{stop});
  if (!stops) return;
  OutputFilter filter(tokenizer.vocabulary(), std::move(*stops), {.ignore_eos = true, .show_special = true});
  const std::string whole = decode(tokenizer.vocabulary(), ids, {.show_special = true});
  std::string shown;
  bool is_stop = false;
  for (size_t i = 0; i < ids.size() && !is_stop; ++i) {
    auto verdict = filter.accept(ids[i]);
    shown += verdict.text;
    is_stop = verdict.is_stop;
  }
  if (!is_stop) shown += filter.finish();
  require(shown == whole.substr(0, whole.find(stop)));
}

void check(const Tokenizer& tokenizer, std::string_view text, size_t cut, bool parse_special, bool is_lossless) {
  EncodeWork work;
  const std::vector<TokenId> ids = tokenizer.encode(text, parse_special, false, &work);
  require(work.merge_steps <= 3 * text.size() + 512 * work.pieces);
  require(work.pattern_failures == 0);
  for (const TokenId id : ids) require(tokenizer.vocabulary()->contains(id));
  const DecodeOptions options{.strip_space_prefix = true, .show_special = true};
  if (is_lossless) require(decode_bytes(tokenizer.vocabulary(), ids, options) == text);
  check_streaming(tokenizer, ids, options);
  check_stopping(tokenizer, ids, text);

  const TextSegment segments[] = {{text.substr(0, cut), parse_special}, {text.substr(cut), parse_special}};
  require(tokenizer.encode(segments, false) == ids);
  if (tokenizer.vocabulary()->kind() != TokenizerKind::bpe) return;  // SPM's space prefixes shift the positions below
  // Text that nobody vouches for makes no control token, whatever stands beside it.
  const TextSegment untrusted[] = {{text.substr(0, cut), true}, {text.substr(cut), false}};
  size_t at = 0;
  for (const TokenId id : tokenizer.encode(untrusted, false)) {
    if (at >= cut) require(!tokenizer.vocabulary()->is_control(id));
    at += tokenizer.vocabulary()->piece(id).size();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto kTokenizers = [] {
    std::vector<std::shared_ptr<const Tokenizer>> tokenizers;
    for (const char* pre :
         {"gpt-2", "smollm", "llama-bpe", "qwen2", "deepseek-llm", "deepseek-v3", "gpt-4o", "falcon"}) {
      tokenizers.push_back(make(small_bpe_vocabulary(pre)));
    }
    tokenizers.push_back(make(small_spm_vocabulary()));
    return tokenizers;
  }();
  if (size < 2) return 0;
  const auto& tokenizer = *kTokenizers[data[0] / 2 % kTokenizers.size()];
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  // SPM cannot tell ▁ from a space.
  const bool is_lossless =
      tokenizer.vocabulary()->kind() == TokenizerKind::bpe || text.find("\xE2\x96\x81") == std::string_view::npos;
  check(tokenizer, text, text.empty() ? 0 : data[1] % text.size(), data[0] % 2 == 1, is_lossless);
  return 0;
}
