#include "text/template/unicode.h"

#include <algorithm>

#include "text/template/unicode_tables.h"

namespace takt::text::jinja {
namespace {

bool contains(std::span<const CodeRange> ranges, uint32_t code) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), code, [](uint32_t c, const CodeRange& r) { return c < r.first; });
  return after != ranges.begin() && code <= std::prev(after)->last;
}

bool continues(std::string_view text, size_t offset) {
  return offset < text.size() && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80;
}

}  // namespace

CodePoint decode(std::string_view text, size_t offset) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[offset + i])); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const CodePoint invalid{0xDC00 + lead, 1};
  const uint32_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return invalid;
  uint32_t code = lead & (0x7F >> length);
  for (uint32_t i = 1; i < length; ++i) {
    if (!continues(text, offset + i)) return invalid;
    code = code << 6 | (byte(i) & 0x3F);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return invalid;
  return {code, length};
}

CodePoint decode_before(std::string_view text, size_t offset) {
  for (size_t length = 1; length <= 4 && length <= offset; ++length) {
    const CodePoint point = decode(text, offset - length);
    const bool is_whole = point.code < 0xDC80 || point.code > 0xDCFF;  // not a byte from the middle of a sequence
    if (is_whole && point.bytes == length) return point;
  }
  return {0xDC00 + static_cast<uint32_t>(static_cast<unsigned char>(text[offset - 1])), 1};
}

void encode(uint32_t code, std::string& out) {
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code >= 0xDC80 && code <= 0xDCFF) {
    put(code - 0xDC00);  // an invalid byte keeps its value
  } else if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6), put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18), put(0x80 | (code >> 12 & 0x3F)), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
  }
}

bool is_valid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = decode(text, i);
    if (point.code >= 0xDC80 && point.code <= 0xDCFF) return false;
    i += point.bytes;
  }
  return true;
}

size_t count_code_points(std::string_view text) {
  size_t count = 0;
  for (size_t i = 0; i < text.size(); i += decode(text, i).bytes) ++count;
  return count;
}

size_t offset_of(std::string_view text, size_t index) {
  size_t offset = 0;
  for (; index > 0 && offset < text.size(); --index) offset += decode(text, offset).bytes;
  return offset;
}

bool is_space(uint32_t code) {
  return (code >= 9 && code <= 13) || (code >= 28 && code <= 32) || code == 0x85 || code == 0xA0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F ||
         code == 0x3000;
}

bool is_line_break(uint32_t code) {
  return (code >= 10 && code <= 13) || (code >= 28 && code <= 30) || code == 0x85 || code == 0x2028 || code == 0x2029;
}

bool is_printable(uint32_t code) { return !contains(kUnprintable, code); }
bool is_alphabetic(uint32_t code) { return contains(kAlphabetic, code); }
bool is_decimal(uint32_t code) { return contains(kDecimal, code); }
bool is_digit(uint32_t code) { return contains(kDigit, code); }
bool is_numeric(uint32_t code) { return contains(kNumeric, code); }
bool is_uppercase(uint32_t code) { return contains(kUppercase, code); }
bool is_lowercase(uint32_t code) { return contains(kLowercase, code); }
bool is_titlecase(uint32_t code) { return contains(kTitlecase, code); }
bool is_word(uint32_t code) { return code == '_' || is_alphabetic(code) || is_decimal(code) || is_numeric(code); }

void append_case(uint32_t code, Case to, std::string& out) {
  const auto expansions = to == Case::upper ? kUpperSpecial : to == Case::lower ? kLowerSpecial : kTitleSpecial;
  const auto found = std::lower_bound(expansions.begin(), expansions.end(), code,
                                      [](const CaseExpansion& e, uint32_t c) { return e.code < c; });
  if (found != expansions.end() && found->code == code) {
    for (const uint32_t part : found->text) {
      if (part != 0) encode(part, out);
    }
    return;
  }
  const auto ranges = to == Case::upper ? kUpperMapping : to == Case::lower ? kLowerMapping : kTitleMapping;
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), code, [](uint32_t c, const CaseRange& r) { return c < r.first; });
  // Ranges of stride 2 interleave, so that the match may be one or two ranges back.
  for (auto it = after; it != ranges.begin() && after - it < 3;) {
    --it;
    if (code <= it->last && (code - it->first) % it->stride == 0) {
      encode(static_cast<uint32_t>(static_cast<int64_t>(code) + it->delta), out);
      return;
    }
  }
  encode(code, out);
}

}  // namespace takt::text::jinja
