// Character properties and case mappings, generated (see unicode_tables.cc).
#pragma once

#include <cstdint>
#include <span>

namespace takt::text::jinja {

struct CodeRange {
  uint32_t first, last;
};
struct CaseRange {  // every stride-th code of [first, last] maps to itself + delta
  uint32_t first, last, stride;
  int32_t delta;
};
struct CaseExpansion {  // one code point becomes two or three; 0 fills up
  uint32_t code;
  uint32_t text[3];
};

extern const std::span<const CodeRange> kUnprintable, kAlphabetic, kDecimal, kDigit, kNumeric, kUppercase, kLowercase,
    kTitlecase;
extern const std::span<const CaseRange> kUpperMapping, kLowerMapping, kTitleMapping;
extern const std::span<const CaseExpansion> kUpperSpecial, kLowerSpecial, kTitleSpecial;

}  // namespace takt::text::jinja
