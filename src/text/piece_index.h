// A hash table from byte strings to token ids: made once, read for every word of every prompt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/vocabulary_data.h"

namespace takt::text {

class PieceIndex {
 public:
  // Room for `count` strings.
  explicit PieceIndex(size_t count);

  // Adds a string, which must outlive the index and not be empty. A string that is there already keeps its first id.
  // Precondition: fewer than `count` strings are there.
  void add(std::string_view piece, TokenId id);
  std::optional<TokenId> find(std::string_view piece) const;
  // Length in bytes of the longest string.
  size_t piece_bytes_max() const { return piece_bytes_max_; }

 private:
  struct Slot {
    const char* data = nullptr;  // nullptr: free
    uint32_t size = 0;
    TokenId id = 0;
    uint64_t hash = 0;
  };
  size_t slot_of(std::string_view piece, uint64_t hash) const;

  std::vector<Slot> slots_;  // a power of two, at most half full: a search meets a free slot
  size_t piece_bytes_max_ = 0;
};

}  // namespace takt::text
