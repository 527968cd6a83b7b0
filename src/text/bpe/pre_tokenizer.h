// Cuts text into the words that byte-level BPE merges inside of.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/bpe/pre_tokenizer_table.h"

namespace takt::text::bpe {

// Immutable; any number of threads may share one.
class PreTokenizer {
 public:
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void piece(std::string_view piece) = 0;
  };

  // Compiles the patterns. Errors: internal (the pattern library refuses one, with its words).
  static base::Result<PreTokenizer> create(const PreTokenizerSpec& spec);
  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;
  ~PreTokenizer();

  // Gives `text` to the sink in pieces, none empty, in order, nothing left out. A run of bytes that is not UTF-8 is a piece of its
  // own, and the text on either side is split as if it stood alone. When the pattern engine gives up (its step limit is
  // proportional to the text; no pattern of the table is known to reach it), the unsplit rest of that text is one piece.
  // Returns how often that happened.
  uint64_t split(std::string_view text, Sink& sink) const;

 private:
  class Pattern;
  class Run;
  PreTokenizer();

  std::vector<Pattern> patterns_;
};

}  // namespace takt::text::bpe
