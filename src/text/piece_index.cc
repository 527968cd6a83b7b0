#include "text/piece_index.h"

#include <bit>
#include <cstring>

namespace takt::text {
namespace {

// Multiply and fold, eight bytes at a time. The strings come from a model file and are fixed, so that whoever writes a prompt
// cannot lengthen a chain of the table; no secret is needed.
uint64_t hash_of(std::string_view piece) {
  constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio
  uint64_t hash = piece.size() * kMultiplier;
  const char* data = piece.data();
  size_t left = piece.size();
  while (left >= 8) {
    uint64_t word;
    std::memcpy(&word, data, 8);
    hash = (std::rotl(hash, 29) ^ word) * kMultiplier;
    hash ^= hash >> 32;
    data += 8;
    left -= 8;
  }
  uint64_t word = 0;
  std::memcpy(&word, data, left);
  hash = (std::rotl(hash, 29) ^ word) * kMultiplier;
  return hash ^ hash >> 32;
}

}  // namespace

PieceIndex::PieceIndex(size_t count) : slots_(std::bit_ceil(2 * count + 2)) {}

size_t PieceIndex::slot_of(std::string_view piece, uint64_t hash) const {
  size_t at = hash & (slots_.size() - 1);
  while (slots_[at].data != nullptr &&
         !(slots_[at].hash == hash && std::string_view(slots_[at].data, slots_[at].size) == piece)) {
    at = (at + 1) & (slots_.size() - 1);
  }
  return at;
}

void PieceIndex::add(std::string_view piece, TokenId id) {
  const uint64_t hash = hash_of(piece);
  Slot& slot = slots_[slot_of(piece, hash)];
  if (slot.data != nullptr) return;
  slot = {piece.data(), static_cast<uint32_t>(piece.size()), id, hash};
  if (piece.size() > piece_bytes_max_) piece_bytes_max_ = piece.size();
}

std::optional<TokenId> PieceIndex::find(std::string_view piece) const {
  if (piece.size() > piece_bytes_max_) return std::nullopt;
  const Slot& slot = slots_[slot_of(piece, hash_of(piece))];
  if (slot.data == nullptr) return std::nullopt;
  return slot.id;
}

}  // namespace takt::text
