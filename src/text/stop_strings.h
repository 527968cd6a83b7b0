// Ends a streamed text at the first stop string, and shows no part of one before.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace takt::text {

// The rule: the stop string that is complete first ends the text, where it begins; of those complete at the same byte, the longest.
// So the result does not depend on how the text is cut into pushes. What may still become a stop string is held back: the
// longest end of the text so far that begins some stop string, and no more.
class StopStrings {
 public:
  // Limits keep the automaton of one request below about 100 MB.
  static constexpr size_t kTotalBytesMax = size_t{1} << 20;

  struct Step {
    std::string text;      // released
    bool is_stop = false;  // a stop string is complete; `text` is the last of the answer, the stop string is not in it
  };

  StopStrings();  // no stop strings: everything is released at once
  // Errors: invalid_argument for an empty string, one that is not UTF-8, or more than kTotalBytesMax bytes together.
  static base::Result<StopStrings> create(std::span<const std::string> strings);
  StopStrings(StopStrings&&) noexcept;
  StopStrings& operator=(StopStrings&&) noexcept;
  ~StopStrings();

  // Precondition: no push() before has given is_stop. Linear in the bytes of `text`, whatever the number of stop strings.
  Step push(std::string_view text);
  // The answer ends without a stop string: what is held back.
  std::string finish();

 private:
  class Automaton;
  std::unique_ptr<const Automaton> automaton_;  // nullptr: no stop strings
  uint32_t state_ = 0;
  std::string held_;  // as long as the depth of state_
};

}  // namespace takt::text
