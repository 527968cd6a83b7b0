#include "text/bpe/byte_map.h"

#include <array>

namespace takt::text::bpe {
namespace {

constexpr uint32_t kCharacterCount = 0x144;  // 256 + 68

constexpr bool is_own_character(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

struct Tables {
  std::array<uint16_t, 256> character{};
  std::array<int16_t, kCharacterCount> byte{};
};

constexpr Tables make_tables() {
  Tables tables;
  for (auto& byte : tables.byte) byte = -1;
  uint32_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint32_t character = is_own_character(byte) ? byte : next++;
    tables.character[byte] = static_cast<uint16_t>(character);
    tables.byte[character] = static_cast<int16_t>(byte);
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

uint32_t character_of_byte(uint8_t byte) { return kTables.character[byte]; }

std::optional<uint8_t> byte_of_character(uint32_t character) {
  if (character >= kCharacterCount || kTables.byte[character] < 0) return std::nullopt;
  return static_cast<uint8_t>(kTables.byte[character]);
}

bool append_spelled_bytes(std::string_view spelling, std::string& out) {
  const size_t size_before = out.size();
  for (size_t i = 0; i < spelling.size(); ++i) {
    // All characters of the map are below U+0144: one byte, or a lead byte C2..C5 and one more.
    uint32_t character = static_cast<uint8_t>(spelling[i]);
    if (character >= 0xC2 && character <= 0xC5 && i + 1 < spelling.size()) {
      character = (character & 0x1F) << 6 | (static_cast<uint8_t>(spelling[++i]) & 0x3F);
    } else if (character >= 0x80) {
      character = kCharacterCount;
    }
    const auto byte = byte_of_character(character);
    if (!byte) {
      out.resize(size_before);
      return false;
    }
    out.push_back(static_cast<char>(*byte));
  }
  return true;
}

}  // namespace takt::text::bpe
