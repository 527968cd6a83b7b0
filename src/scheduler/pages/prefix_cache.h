// Which KV pages hold which tokens, so that a request whose tokens begin as others did takes their pages instead of
// evaluating them again. Owns the page pool, because what is cached is given up only when pages run out.
//
// A tree for each tenant. A node is a page: its tokens are the label of the edge from its parent, and the path from the
// root is everything that the page's keys and values depend on. Labels have page_tokens tokens, those of leaves may have
// fewer (the end of an answer). A match compares token ids: nothing is hashed, so nothing can collide.
//
// What makes eviction simple: a page's owner owns the pages of all nodes above it too. So below a page without owners
// there are none with, and giving up leaves, the longest unused first, reaches every page without owners. These may
// therefore all be counted as free.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "contract/ids.h"
#include "scheduler/pages/page_pool.h"

namespace takt::scheduler {

// A sequence's tokens that are known: its prompt, then its output.
struct TokenView {
  std::span<const contract::TokenId> prompt;
  std::span<const contract::TokenId> outputs;
  uint32_t size() const { return static_cast<uint32_t>(prompt.size() + outputs.size()); }
  contract::TokenId operator[](uint32_t position) const {
    return position < prompt.size() ? prompt[position] : outputs[position - prompt.size()];
  }
};

class PrefixCache {
 public:
  using Node = uint32_t;
  static constexpr Node kRoot = UINT32_MAX;  // of the tenant concerned

  PrefixCache(uint32_t page_count, uint32_t page_tokens);

  // What is cached of a sequence's beginning.
  struct Hit {
    std::vector<contract::PageId> pages;  // whole pages, to be shared
    Node last = kRoot;                    // of the last of them
    // A page whose first copy_tokens positions go on from there: to be copied, since others go on otherwise.
    std::optional<contract::PageId> copy_from;
    uint32_t copy_tokens = 0;
  };
  // The longest, `tokens_max` tokens at most. Time: O(pages · log(branches)).
  Hit find(uint64_t tenant, const TokenView& tokens, uint32_t tokens_max) const;
  // Its whole pages get one more owner; it was used now. Precondition: nothing has changed since find().
  void take(const Hit& hit);

  // A page with one owner, if need be the one cached and unused for the longest time; nothing when all are owned.
  std::optional<contract::PageId> try_take_page();
  // For a page in the tree that is about to be copied; release_page() is the opposite. Precondition: as take().
  void add_owner(contract::PageId page);
  void release_page(contract::PageId page);

  // A sequence's page was filled: the positions of `label` behind those of node `parent`, whose page the sequence owns.
  // Returns its node. Or nothing, when another's page is there and has owners: then the sequence keeps its page to itself
  // (its successors too: see above).
  std::optional<Node> try_publish(uint64_t tenant, Node parent, const std::vector<contract::TokenId>& label,
                                  contract::PageId page);
  // The same for the pages of a sequence that releases all of them before anything else happens: then the other's page
  // may stand for its own. `label` may be short; a short label whose tokens are known already is not taken up.
  Node publish_last(uint64_t tenant, Node parent, const std::vector<contract::TokenId>& label, contract::PageId page);
  // What is released from now on counts as used later than what was before.
  void advance() { ++tick_; }

  const PagePool& pages() const { return pages_; }
  uint64_t evicted_count() const { return evicted_count_; }

 private:
  using Label = std::vector<contract::TokenId>;
  using Children = std::map<Label, Node>;
  struct Entry {
    Node parent = kRoot;  // only roots have none; they have no page either
    Children children;
    Children::iterator place;  // in the parent's children
    contract::PageId page;
    uint64_t tenant = 0;     // of roots
    uint64_t used_tick = 0;  // when last
    bool is_evictable = false;
  };

  const Entry* find_entry(uint64_t tenant, Node node) const;
  Node make_root(uint64_t tenant);
  Node new_entry();
  Node insert(Node parent, const Label& label, contract::PageId page);
  void replace_page(Node node, contract::PageId page);
  void remove(Node node);
  void remove_superseded(Node parent, Children::iterator place);
  void use(Node node);
  // Puts the node into the order of eviction, or takes it out, after anything that decides this has changed.
  void refresh(Node node);

  uint32_t page_tokens_;
  PagePool pages_;
  std::deque<Entry> entries_;  // [node]
  std::vector<Node> unused_;   // nodes that stand for nothing now
  std::map<uint64_t, Node> roots_;
  std::vector<Node> nodes_;                       // [page]; kRoot: not cached
  std::set<std::pair<uint64_t, Node>> to_evict_;  // leaves whose page has no owner, by used_tick
  uint64_t tick_ = 0;
  uint64_t evicted_count_ = 0;
};

}  // namespace takt::scheduler
