#include "text/pair_merging.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace takt::text {
namespace {

// A random grammar over ids 0..7: some pairs merge into a new id.
struct Grammar {
  std::map<std::pair<uint32_t, uint32_t>, PairMerge> merges;
  PairMerge operator()(const MergeSymbol& left, const MergeSymbol& right) const {
    const auto found = merges.find({left.id, right.id});
    return found == merges.end() ? PairMerge{kNoMerge, 0} : found->second;
  }
};

Grammar random_grammar(std::mt19937& random) {
  Grammar grammar;
  uint32_t ids = 4;
  for (uint32_t i = 0; i < 12; ++i) {
    // Equal ranks occur: the leftmost pair must win then.
    grammar.merges[{random() % ids, random() % ids}] = {i / 2, ids};
    ++ids;
  }
  return grammar;
}

// The definition, word for word.
std::vector<MergeSymbol> merge_plainly(std::vector<MergeSymbol> symbols, const Grammar& grammar) {
  for (;;) {
    size_t best = symbols.size();
    uint32_t best_rank = kNoMerge;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      if (const uint32_t rank = grammar(symbols[i], symbols[i + 1]).rank; rank < best_rank) {
        best = i;
        best_rank = rank;
      }
    }
    if (best_rank == kNoMerge) return symbols;
    symbols[best].id = grammar(symbols[best], symbols[best + 1]).id;
    symbols[best].size += symbols[best + 1].size;
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
}

std::vector<MergeSymbol> random_symbols(std::mt19937& random, size_t count) {
  std::vector<MergeSymbol> symbols;
  for (uint32_t i = 0; i < count; ++i) symbols.push_back({i, 1, static_cast<uint32_t>(random() % 4)});
  return symbols;
}

TEST(PairMerging, FollowsTheDefinition) {
  std::mt19937 random(3);
  MergeScratch scratch;
  for (int round = 0; round < 3000; ++round) {
    const Grammar grammar = random_grammar(random);
    const size_t count = round % 2 == 0 ? random() % 40 : 30 + random() % 200;
    const auto symbols = random_symbols(random, count);
    const auto expected = merge_plainly(symbols, grammar);
    scratch.symbols = symbols;
    uint64_t steps = 0;
    merge_pairs(scratch, grammar, steps);
    ASSERT_EQ(scratch.symbols.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(scratch.symbols[i].begin, expected[i].begin);
      ASSERT_EQ(scratch.symbols[i].size, expected[i].size);
      ASSERT_EQ(scratch.symbols[i].id, expected[i].id);
    }
    if (count > kMergeFewMax) {
      ASSERT_LE(steps, 3 * count);
    }
  }
}

}  // namespace
}  // namespace takt::text
