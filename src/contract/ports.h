// Ports through which the engine asks what belongs to text/: does this token end the answer, may it be chosen at all?
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "contract/ids.h"

namespace takt::contract {

// Decides whether a token ends the answer, and turns tokens into text that is safe to show: complete UTF-8, and nothing that may
// still turn out to be the beginning of a stop string.
class StopDetector {
 public:
  struct Verdict {
    bool is_stop = false;  // the answer ends here; `text` is its last piece
    std::string text;      // released by this token; often empty
  };
  virtual ~StopDetector() = default;
  // Called once per output token, in order. After is_stop it is not called again.
  virtual Verdict accept(TokenId token) = 0;
  // The answer ends for another reason (length, cancel): the held-back rest.
  virtual std::string finish() = 0;
};

// Restricts the next token (a grammar, a JSON schema).
class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;
  // Clears the bits of tokens that may not come next. `allowed` has one bit a vocabulary entry, all set on entry.
  virtual void mask(std::span<uint64_t> allowed) = 0;
  virtual void accept(TokenId token) = 0;
  // Undoes the last `count` accepts (a rejected draft).
  virtual void roll_back(uint32_t count) = 0;
};

}  // namespace takt::contract
