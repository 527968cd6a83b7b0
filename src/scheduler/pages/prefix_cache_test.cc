#include "scheduler/pages/prefix_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace takt::scheduler {
namespace {

using contract::PageId;
using contract::TokenId;
using Tokens = std::vector<TokenId>;

constexpr uint32_t kPage = 4;

// A user of the cache that does what residents do: takes what is cached, fills pages, publishes and releases them.
struct Holder {
  uint64_t tenant = 0;
  Tokens tokens;
  std::vector<PageId> pages;
  PrefixCache::Node node = PrefixCache::kRoot;
  uint32_t published = 0;
  bool is_published = true;
  uint32_t hit = 0;
};

class Cache {
 public:
  explicit Cache(uint32_t page_count) : cache(page_count, kPage) {}

  // Nothing when pages run out; then nothing is held.
  std::optional<Holder> try_hold(uint64_t tenant, const Tokens& tokens) {
    Holder holder;
    holder.tenant = tenant;
    holder.tokens = tokens;
    const auto found = cache.find(tenant, {tokens, {}}, static_cast<uint32_t>(tokens.size()) - 1);
    cache.take(found);
    holder.pages = found.pages;
    holder.node = found.last;
    holder.published = static_cast<uint32_t>(found.pages.size());
    holder.hit = holder.published * kPage + found.copy_tokens;
    while (holder.pages.size() * kPage < tokens.size()) {
      const auto page = cache.try_take_page();
      if (!page) {
        drop(holder);
        return std::nullopt;
      }
      holder.pages.push_back(*page);
    }
    return holder;
  }

  Tokens label(const Holder& holder, uint32_t page) const {
    const auto begin = holder.tokens.begin() + page * kPage;
    return {begin, begin + std::min<long>(kPage, holder.tokens.end() - begin)};
  }

  void publish(Holder& holder) {
    while (holder.is_published && (holder.published + 1) * kPage <= holder.tokens.size()) {
      const auto node = cache.try_publish(holder.tenant, holder.node, label(holder, holder.published),
                                          holder.pages[holder.published]);
      holder.is_published = node.has_value();
      if (!node) return;
      holder.node = *node;
      ++holder.published;
    }
  }

  void end(Holder& holder) {
    cache.advance();
    publish(holder);
    for (uint32_t i = holder.published; i < holder.pages.size(); ++i)
      holder.node = cache.publish_last(holder.tenant, holder.node, label(holder, i), holder.pages[i]);
    drop(holder);
  }

  void drop(Holder& holder) {
    for (auto it = holder.pages.rbegin(); it != holder.pages.rend(); ++it) cache.release_page(*it);
    holder.pages.clear();
  }

  uint32_t cached_tokens(uint64_t tenant, const Tokens& tokens) const {
    const auto hit = cache.find(tenant, {tokens, {}}, static_cast<uint32_t>(tokens.size()));
    return static_cast<uint32_t>(hit.pages.size()) * kPage + hit.copy_tokens;
  }

  void remember(uint64_t tenant, const Tokens& tokens) {
    auto holder = try_hold(tenant, tokens);
    ASSERT_TRUE(holder);
    end(*holder);
  }

  PrefixCache cache;
};

TEST(PrefixCache, FindsWholePagesAndTheBeginningOfTheNext) {
  Cache cache(8);
  cache.remember(0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_EQ(cache.cached_tokens(0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), 10u) << "to the end of the answer";
  EXPECT_EQ(cache.cached_tokens(0, {1, 2, 3, 4, 5, 6, 0, 0}), 6u) << "into a whole page";
  EXPECT_EQ(cache.cached_tokens(0, {1, 2, 0, 0}), 2u);
  EXPECT_EQ(cache.cached_tokens(0, {0, 2, 3, 4}), 0u);
  const Tokens all = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto hit = cache.cache.find(0, {all, {}}, 7);
  EXPECT_EQ(hit.pages.size(), 1u) << "the last token is to be evaluated, so the second page is copied";
  EXPECT_EQ(hit.copy_tokens, 3u);
  EXPECT_EQ(*hit.copy_from, PageId{1});
  const Tokens prompt = {1, 2, 3}, outputs = {4, 5, 6};
  EXPECT_EQ(cache.cache.find(0, {prompt, outputs}, 5).copy_tokens, 1u) << "prompt and output are one text";
}

TEST(PrefixCache, TenantsShareNothing) {
  Cache cache(8);
  cache.remember(7, {1, 2, 3, 4, 5});
  EXPECT_EQ(cache.cached_tokens(7, {1, 2, 3, 4, 5}), 5u);
  EXPECT_EQ(cache.cached_tokens(0, {1, 2, 3, 4, 5}), 0u);
  EXPECT_EQ(cache.cached_tokens(8, {1, 2, 3, 4, 5}), 0u);
}

TEST(PrefixCache, OfManyBranchesTheLongestIsFound) {
  Cache cache(8);
  for (const Tokens& tokens : {Tokens{1, 2, 3, 4}, {1, 2, 4, 1}, {1, 3, 0, 0}, {2, 2, 3, 4}}) cache.remember(0, tokens);
  EXPECT_EQ(cache.cached_tokens(0, {1, 2, 4, 0}), 3u);
  EXPECT_EQ(cache.cached_tokens(0, {1, 2, 4, 9}), 3u);
  EXPECT_EQ(cache.cached_tokens(0, {1, 2, 9, 9}), 2u);
  EXPECT_EQ(cache.cached_tokens(0, {1, 9, 9, 9}), 1u);
  EXPECT_EQ(cache.cached_tokens(0, {2, 2, 3, 4}), 4u);
}

TEST(PrefixCache, AShortPageIsReplacedByOneThatGoesOn) {
  Cache cache(8);
  cache.remember(0, {1, 2});
  cache.remember(0, {1, 2, 3});
  EXPECT_EQ(cache.cache.pages().idle_count(), 1u);
  cache.remember(0, {1});
  EXPECT_EQ(cache.cache.pages().idle_count(), 1u) << "nothing new";
  cache.remember(0, {1, 2, 3, 4});
  EXPECT_EQ(cache.cache.pages().idle_count(), 1u);
  EXPECT_EQ(cache.cached_tokens(0, {1, 2, 3, 4}), 4u);
}

TEST(PrefixCache, GivesUpTheLongestUnusedLeafFirst) {
  Cache cache(4);
  cache.remember(0, {1, 1, 1, 1, 2, 2, 2, 2});
  cache.remember(0, {1, 1, 1, 1, 3, 3, 3, 3});
  cache.remember(0, {4, 4, 4, 4});
  EXPECT_EQ(cache.cache.pages().free_count(), 4u);
  EXPECT_EQ(cache.cache.pages().idle_count(), 4u);
  cache.remember(0, {5, 5});  // takes the page of the 2s
  EXPECT_EQ(cache.cached_tokens(0, {1, 1, 1, 1, 2, 2, 2, 2}), 4u);
  EXPECT_EQ(cache.cached_tokens(0, {1, 1, 1, 1, 3, 3, 3, 3}), 8u);
  cache.remember(0, {1, 1, 1, 1, 3, 3, 3, 3});  // used: now the 4s are the oldest
  cache.remember(0, {6, 6});
  EXPECT_EQ(cache.cached_tokens(0, {4, 4, 4, 4}), 0u);
  EXPECT_EQ(cache.cached_tokens(0, {1, 1, 1, 1, 3, 3, 3, 3}), 8u);
  EXPECT_EQ(cache.cache.evicted_count(), 3u) << "the last one was for the copy of the 3s";
}

TEST(PrefixCache, APageWithOwnersIsNotGivenUp) {
  Cache cache(2);
  auto holder = cache.try_hold(0, {1, 1, 1, 1, 2});
  ASSERT_TRUE(holder);
  cache.publish(*holder);
  EXPECT_EQ(cache.cached_tokens(0, {1, 1, 1, 1, 2}), 4u) << "shared while its owner goes on";
  EXPECT_FALSE(cache.try_hold(0, {1, 1, 1, 1, 3}));
  EXPECT_FALSE(cache.cache.try_take_page());
  cache.end(*holder);
  EXPECT_EQ(cache.cache.pages().free_count(), 2u);
}

TEST(PrefixCache, TwoThatEvaluateTheSameAtOnceKeepOnePageInTheEnd) {
  Cache cache(8);
  auto a = cache.try_hold(0, {1, 1, 1, 1, 2, 2, 2, 2, 3}), b = cache.try_hold(0, {1, 1, 1, 1, 2, 2, 2, 2, 4});
  ASSERT_TRUE(a && b);
  cache.publish(*a);
  cache.publish(*b);
  EXPECT_FALSE(b->is_published) << "a's page is there and owned";
  cache.end(*b);
  EXPECT_EQ(cache.cached_tokens(0, {1, 1, 1, 1, 2, 2, 2, 2, 4}), 9u);
  cache.end(*a);
  EXPECT_EQ(cache.cache.pages().idle_count(), 4u) << "1s, 2s, 3, 4";
  EXPECT_EQ(cache.cache.pages().free_count(), 8u);
}

TEST(PrefixCache, AnIdlePageIsReplacedByTheSameOneInUse) {
  Cache cache(8);
  auto a = cache.try_hold(0, {1, 1, 1, 1, 2}), b = cache.try_hold(0, {1, 1, 1, 1, 3});
  ASSERT_TRUE(a && b);
  cache.end(*a);
  cache.publish(*b);
  EXPECT_TRUE(b->is_published);
  EXPECT_EQ(cache.cache.pages().owner_count(cache.cache.find(0, {b->tokens, {}}, 4).pages[0]), 1u);
  cache.end(*b);
  EXPECT_EQ(cache.cache.pages().idle_count(), 3u);
}

// ---- random operations against a plain model

// Everything that was ever evaluated, as a set of texts: what the cache finds must be the beginning of one of them.
class Model {
 public:
  void add(uint64_t tenant, const Tokens& tokens) { texts_.insert({tenant, tokens}); }
  uint32_t longest(uint64_t tenant, const Tokens& tokens) const {
    uint32_t longest = 0;
    for (const auto& [owner, text] : texts_) {
      if (owner != tenant) continue;
      const auto end = std::mismatch(tokens.begin(), tokens.end(), text.begin(), text.end()).first;
      longest = std::max(longest, static_cast<uint32_t>(end - tokens.begin()));
    }
    return longest;
  }

 private:
  std::set<std::pair<uint64_t, Tokens>> texts_;
};

Tokens random_text(std::mt19937& random, const std::vector<Tokens>& known) {
  Tokens text = known[random() % known.size()];
  text.resize(random() % (text.size() + 1));
  for (uint32_t i = 1 + random() % 9; i > 0; --i) text.push_back(static_cast<TokenId>(random() % 3));
  if (text.size() > 40) text.resize(40);
  return text;
}

void check_pages(const Cache& cache, const std::vector<Holder>& holders, uint32_t page_count) {
  std::map<PageId, uint32_t> owners;
  for (const Holder& holder : holders)
    for (const PageId page : holder.pages) ++owners[page];
  const PagePool& pages = cache.cache.pages();
  uint32_t idle = 0, owned = 0;
  for (uint32_t i = 0; i < page_count; ++i) {
    const PageId page{i};
    ASSERT_EQ(pages.owner_count(page), owners.contains(page) ? owners[page] : 0) << "page " << i;
    owned += owners.contains(page) ? 1 : 0;
    idle += pages.is_cached(page) && !owners.contains(page) ? 1 : 0;
  }
  ASSERT_EQ(pages.idle_count(), idle);
  ASSERT_EQ(pages.used_count(), owned);
}

void run_random(uint32_t seed) {
  std::mt19937 random(seed);
  const uint32_t page_count = 4 + random() % 60;
  const bool is_roomy = page_count > 40;  // then nothing is given up, and all that was evaluated is found
  Cache cache(is_roomy ? 1500 : page_count);
  Model model;
  std::vector<Holder> holders;
  std::vector<Tokens> known(1);
  for (int i = 0; i < 150; ++i) {
    const uint64_t tenant = random() % 2;
    if (random() % 2 == 0) {
      const Tokens text = random_text(random, known);
      known.push_back(text);
      const uint32_t longest = std::min(model.longest(tenant, text), static_cast<uint32_t>(text.size()) - 1);
      auto holder = cache.try_hold(tenant, text);
      if (!holder) continue;
      ASSERT_LE(holder->hit, longest);
      if (is_roomy) {
        ASSERT_EQ(holder->hit, longest) << "operation " << i;
      }
      for (size_t page = 0; page < holder->hit / kPage; ++page)
        for (const Holder& other : holders) {
          if (std::count(other.pages.begin(), other.pages.end(), holder->pages[page]) == 0) continue;
          ASSERT_EQ(other.tenant, tenant);
          ASSERT_TRUE(
              std::equal(text.begin(), text.begin() + static_cast<long>(page + 1) * kPage, other.tokens.begin()));
        }
      holders.push_back(std::move(*holder));
    } else if (!holders.empty()) {
      const size_t index = random() % holders.size();
      Holder& holder = holders[index];
      // While it goes on only whole pages of it are known; in a roomy cache everything ends at once, to be found whole.
      if (random() % 3 == 0 && !is_roomy) {
        cache.publish(holder);
        model.add(holder.tenant, holder.tokens);
      } else {
        model.add(holder.tenant, holder.tokens);
        cache.end(holder);
        holders.erase(holders.begin() + static_cast<long>(index));
      }
    }
    check_pages(cache, holders, is_roomy ? 1500 : page_count);
    if (testing::Test::HasFatalFailure()) return;
  }
  for (Holder& holder : holders) cache.end(holder);
  const PagePool& pages = cache.cache.pages();
  ASSERT_EQ(pages.free_count(), pages.page_count());
  // Every page without an owner can be had, cached or not.
  for (uint32_t i = 0; i < pages.page_count(); ++i) ASSERT_TRUE(cache.cache.try_take_page()) << i;
  ASSERT_FALSE(cache.cache.try_take_page());
}

TEST(PrefixCache, RandomOperationsAgreeWithAPlainModel) {
  std::printf("seeds 1 to 200\n");
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run_random(seed);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace takt::scheduler
