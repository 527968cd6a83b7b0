// Greedy merging of neighbours, the heart of both tokenizers: of all neighbouring pairs that may merge, the one of the lowest
// rank does (the leftmost of equals), until none is left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace takt::text {

struct MergeSymbol {
  uint32_t begin;  // bytes, within the piece
  uint32_t size;   // bytes
  uint32_t id;     // the algorithm's own number
};

struct PairMerge {
  uint32_t rank;  // kNoMerge: the pair does not merge
  uint32_t id;    // of the merged symbol
};
inline constexpr uint32_t kNoMerge = std::numeric_limits<uint32_t>::max();

// Reused from call to call, so that a word costs no allocation.
struct MergeScratch {
  std::vector<MergeSymbol> symbols;   // in and out
  std::vector<PairMerge> pairs;       // of symbol i with its right neighbour
  std::vector<uint64_t> heap;         // rank in the high, index of the left symbol in the low half; smallest first
  std::vector<uint32_t> left, right;  // neighbours of a symbol in the list, kNoSymbol at the ends
};

namespace detail {

inline constexpr uint32_t kNoSymbol = std::numeric_limits<uint32_t>::max();

// Looks at all pairs for each merge and closes the gap by moving: for a handful of symbols that beats any structure.
template <class Lookup>
void merge_few(MergeScratch& scratch, const Lookup& lookup, uint64_t& steps) {
  auto& symbols = scratch.symbols;
  auto& pairs = scratch.pairs;
  while (symbols.size() > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < symbols.size(); ++i) {
      if (pairs[i].rank < pairs[best].rank) best = i;
    }
    steps += symbols.size() - 1;
    if (pairs[best].rank == kNoMerge) return;
    symbols[best].size += symbols[best + 1].size;
    symbols[best].id = pairs[best].id;
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
    pairs.erase(pairs.begin() + static_cast<ptrdiff_t>(best));
    if (best + 1 < symbols.size()) pairs[best] = lookup(symbols[best], symbols[best + 1]);
    if (best > 0) pairs[best - 1] = lookup(symbols[best - 1], symbols[best]);
  }
}

template <class Lookup>
class ListMerger {
 public:
  ListMerger(MergeScratch& scratch, const Lookup& lookup) : scratch_(scratch), lookup_(lookup) {}

  // A symbol that was merged away has size 0. A heap entry is stale when its pair now has another rank; a pair that came back
  // with the same rank is the same merge at the same place, so that it may be taken by either entry.
  void run(uint64_t& steps) {
    link();
    auto& heap = scratch_.heap;
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), std::greater<>());
      const uint64_t entry = heap.back();
      heap.pop_back();
      ++steps;
      const auto at = static_cast<uint32_t>(entry);
      if (scratch_.symbols[at].size == 0 || scratch_.pairs[at].rank != static_cast<uint32_t>(entry >> 32)) continue;
      merge(at);
    }
    std::erase_if(scratch_.symbols, [](const MergeSymbol& symbol) { return symbol.size == 0; });
  }

 private:
  void link() {
    const auto count = static_cast<uint32_t>(scratch_.symbols.size());
    scratch_.heap.clear();
    scratch_.left.resize(count);
    scratch_.right.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      scratch_.left[i] = i == 0 ? kNoSymbol : i - 1;
      scratch_.right[i] = i + 1 == count ? kNoSymbol : i + 1;
      if (scratch_.pairs[i].rank != kNoMerge) scratch_.heap.push_back(uint64_t{scratch_.pairs[i].rank} << 32 | i);
    }
    std::make_heap(scratch_.heap.begin(), scratch_.heap.end(), std::greater<>());
  }

  void merge(uint32_t at) {
    const uint32_t gone = scratch_.right[at];
    const uint32_t after = scratch_.right[gone];
    scratch_.symbols[at].size += scratch_.symbols[gone].size;
    scratch_.symbols[at].id = scratch_.pairs[at].id;
    scratch_.symbols[gone].size = 0;
    scratch_.right[at] = after;
    if (after != kNoSymbol) scratch_.left[after] = at;
    look_up(at);
    if (scratch_.left[at] != kNoSymbol) look_up(scratch_.left[at]);
  }

  void look_up(uint32_t at) {
    const uint32_t next = scratch_.right[at];
    PairMerge& pair = scratch_.pairs[at];
    pair = next == kNoSymbol ? PairMerge{kNoMerge, 0} : lookup_(scratch_.symbols[at], scratch_.symbols[next]);
    if (pair.rank == kNoMerge) return;
    scratch_.heap.push_back(uint64_t{pair.rank} << 32 | at);
    std::push_heap(scratch_.heap.begin(), scratch_.heap.end(), std::greater<>());
  }

  MergeScratch& scratch_;
  const Lookup& lookup_;
};

}  // namespace detail

// Up to this many symbols all pairs are looked at for each merge: 32 * 31 / 2 comparisons at most, less than a heap costs.
inline constexpr size_t kMergeFewMax = 32;

// Merges scratch.symbols, none of size 0, in place. `lookup(left, right)` gives the PairMerge of two neighbours and must depend on
// their content alone. O(n log n) for n symbols; `steps` grows by at most 3 n beyond kMergeFewMax symbols.
template <class Lookup>
void merge_pairs(MergeScratch& scratch, const Lookup& lookup, uint64_t& steps) {
  const size_t count = scratch.symbols.size();
  if (count < 2) return;
  scratch.pairs.resize(count);
  for (size_t i = 0; i + 1 < count; ++i) scratch.pairs[i] = lookup(scratch.symbols[i], scratch.symbols[i + 1]);
  scratch.pairs[count - 1] = {kNoMerge, 0};
  if (count <= kMergeFewMax) {
    detail::merge_few(scratch, lookup, steps);
  } else {
    detail::ListMerger<Lookup>(scratch, lookup).run(steps);
  }
}

}  // namespace takt::text
