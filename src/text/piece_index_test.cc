#include "text/piece_index.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace takt::text {
namespace {

TEST(PieceIndex, FindsWhatWasAddedAndNothingElse) {
  std::vector<std::string> pieces;
  for (int i = 0; i < 5000; ++i) pieces.push_back(std::string(static_cast<size_t>(i % 19), 'x') + std::to_string(i));
  PieceIndex index(pieces.size() + 1);
  for (size_t i = 0; i < pieces.size(); ++i) index.add(pieces[i], static_cast<TokenId>(i));
  for (size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(index.find(pieces[i]), static_cast<TokenId>(i));
    EXPECT_EQ(index.find(pieces[i] + "-"), std::nullopt);
  }
  EXPECT_EQ(index.find(""), std::nullopt);
  EXPECT_EQ(index.find(std::string("1\0", 2)), std::nullopt);  // bytes beyond the end are not zeros
  const std::string again = pieces[7];
  index.add(again, 9999);
  EXPECT_EQ(index.find(again), 7);
}

TEST(PieceIndex, MayBeEmpty) { EXPECT_EQ(PieceIndex(0).find("a"), std::nullopt); }

}  // namespace
}  // namespace takt::text
