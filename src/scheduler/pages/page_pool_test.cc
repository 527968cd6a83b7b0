#include "scheduler/pages/page_pool.h"

#include <gtest/gtest.h>

namespace takt::scheduler {
namespace {

TEST(PagePool, GivesOutAscendingThenTheLastFreedFirst) {
  PagePool pool(3);
  EXPECT_EQ(pool.try_take()->value, 0u);
  EXPECT_EQ(pool.try_take()->value, 1u);
  EXPECT_EQ(pool.try_take()->value, 2u);
  EXPECT_FALSE(pool.try_take().has_value());
  pool.release(contract::PageId{0});
  pool.release(contract::PageId{2});
  EXPECT_EQ(pool.try_take()->value, 2u);
  EXPECT_EQ(pool.try_take()->value, 0u);
}

TEST(PagePool, ASharedPageIsFreeWhenItsLastOwnerLeaves) {
  PagePool pool(1);
  const contract::PageId page = *pool.try_take();
  pool.add_owner(page);
  EXPECT_EQ(pool.owner_count(page), 2u);
  pool.release(page);
  EXPECT_EQ(pool.free_count(), 0u);
  pool.release(page);
  EXPECT_EQ(pool.free_count(), 1u);
  EXPECT_EQ(pool.used_count(), 0u);
}

TEST(PagePool, CountsPagesForPositions) {
  EXPECT_EQ(pages_for(0, 32), 0u);
  EXPECT_EQ(pages_for(1, 32), 1u);
  EXPECT_EQ(pages_for(32, 32), 1u);
  EXPECT_EQ(pages_for(33, 32), 2u);
  EXPECT_EQ(pages_for(5, 1), 5u);
}

TEST(PagePoolDeathTest, ReleasingAFreePageIsCaught) {
  PagePool pool(2);
  EXPECT_DEATH(pool.release(contract::PageId{1}), "owner_counts_");
}

}  // namespace
}  // namespace takt::scheduler
