#include "text/utf8.h"

#include <cstdint>
#include <cstring>

namespace takt::text {
namespace {

struct LeadByte {
  size_t size;         // of the whole sequence; 0 when no character begins so
  uint8_t second_low;  // range of the second byte; the later ones are 80..BF
  uint8_t second_high;
};

LeadByte classify(uint8_t lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead < 0xC2) return {0, 0, 0};
  if (lead < 0xE0) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};  // no surrogates
  if (lead < 0xF0) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead < 0xF4) return {4, 0x80, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};  // nothing above U+10FFFF
  return {0, 0, 0};
}

// Bytes at the front that are ASCII, found eight at a time.
size_t ascii_prefix(std::string_view text) {
  size_t at = 0;
  for (uint64_t word; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & 0x8080808080808080u) != 0) break;
  }
  while (at < text.size() && static_cast<uint8_t>(text[at]) < 0x80) ++at;
  return at;
}

}  // namespace

Utf8Step next_utf8(std::string_view text) {
  const LeadByte lead = classify(static_cast<uint8_t>(text[0]));
  if (lead.size == 0) return {Utf8Step::Kind::invalid, 1};
  for (size_t i = 1; i < lead.size; ++i) {
    if (i == text.size()) return {Utf8Step::Kind::incomplete, i};
    const uint8_t byte = static_cast<uint8_t>(text[i]);
    const uint8_t low = i == 1 ? lead.second_low : 0x80;
    const uint8_t high = i == 1 ? lead.second_high : 0xBF;
    if (byte < low || byte > high) return {Utf8Step::Kind::invalid, i};
  }
  return {Utf8Step::Kind::valid, lead.size};
}

size_t utf8_valid_prefix(std::string_view text) {
  size_t at = 0;
  for (;;) {
    at += ascii_prefix(text.substr(at));
    if (at == text.size()) return at;
    const Utf8Step step = next_utf8(text.substr(at));
    if (step.kind != Utf8Step::Kind::valid) return at;
    at += step.size;
  }
}

size_t utf8_invalid_prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const Utf8Step step = next_utf8(text.substr(at));
    if (step.kind == Utf8Step::Kind::valid) break;
    at += step.size;
  }
  return at;
}

}  // namespace takt::text
