// GPT-2's spelling of bytes: byte-level BPE vocabularies write every byte as one printable character. The printable bytes
// of Latin-1 stand for themselves; the other 68 are numbered from U+0100 on in ascending order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace takt::text::bpe {

// The character that stands for `byte`, below U+0144.
uint32_t character_of_byte(uint8_t byte);

// The byte that a character stands for, if any.
std::optional<uint8_t> byte_of_character(uint32_t character);

// Appends to `out` the bytes that `spelling` stands for. False, with `out` as it was, when a character stands for none.
bool append_spelled_bytes(std::string_view spelling, std::string& out);

}  // namespace takt::text::bpe
