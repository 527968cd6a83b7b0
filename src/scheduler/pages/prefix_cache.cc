#include "scheduler/pages/prefix_cache.h"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace takt::scheduler {
namespace {

uint32_t common_tokens(const std::vector<contract::TokenId>& a, const std::vector<contract::TokenId>& b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return static_cast<uint32_t>(end - a.begin());
}

bool is_prefix(const std::vector<contract::TokenId>& a, const std::vector<contract::TokenId>& of) {
  return a.size() <= of.size() && common_tokens(a, of) == a.size();
}

}  // namespace

PrefixCache::PrefixCache(uint32_t page_count, uint32_t page_tokens)
    : page_tokens_(page_tokens), pages_(page_count), nodes_(page_count, kRoot) {}

const PrefixCache::Entry* PrefixCache::find_entry(uint64_t tenant, Node node) const {
  if (node != kRoot) return &entries_[node];
  const auto root = roots_.find(tenant);
  return root == roots_.end() ? nullptr : &entries_[root->second];
}

PrefixCache::Hit PrefixCache::find(uint64_t tenant, const TokenView& tokens, uint32_t tokens_max) const {
  Hit hit;
  Label label;
  const uint32_t end = std::min(tokens_max, tokens.size());
  for (uint32_t begin = 0; begin < end; begin += page_tokens_) {
    const Entry* entry = find_entry(tenant, hit.last);
    if (!entry || entry->children.empty()) break;
    label.clear();
    for (uint32_t i = begin; i < std::min(begin + page_tokens_, end); ++i) label.push_back(tokens[i]);
    // In the order of labels, those with the longest common beginning stand next to where this one would.
    const auto after = entry->children.lower_bound(label);
    if (label.size() == page_tokens_ && after != entry->children.end() && after->first == label) {
      hit.last = after->second;
      hit.pages.push_back(entries_[hit.last].page);
      continue;
    }
    const auto consider = [&](Children::const_iterator place) {
      const uint32_t common = common_tokens(label, place->first);
      if (common <= hit.copy_tokens) return;
      hit.copy_tokens = common;
      hit.copy_from = entries_[place->second].page;
    };
    if (after != entry->children.end()) consider(after);
    if (after != entry->children.begin()) consider(std::prev(after));
    break;
  }
  return hit;
}

void PrefixCache::take(const Hit& hit) {
  ++tick_;
  for (const contract::PageId page : hit.pages) add_owner(page);
}

void PrefixCache::add_owner(contract::PageId page) {
  const Node node = nodes_[page.value];
  assert(node != kRoot);
  pages_.add_owner(page);
  use(node);
}

void PrefixCache::release_page(contract::PageId page) {
  pages_.release(page);
  const Node node = nodes_[page.value];
  if (node != kRoot) use(node);
}

std::optional<contract::PageId> PrefixCache::try_take_page() {
  if (const auto page = pages_.try_take()) return page;
  if (to_evict_.empty()) return std::nullopt;
  remove(to_evict_.begin()->second);
  ++evicted_count_;
  return pages_.try_take();
}

std::optional<PrefixCache::Node> PrefixCache::try_publish(uint64_t tenant, Node parent, const Label& label,
                                                          contract::PageId page) {
  assert(label.size() == page_tokens_);
  if (parent == kRoot) parent = make_root(tenant);
  const auto found = entries_[parent].children.find(label);
  if (found == entries_[parent].children.end()) return insert(parent, label, page);
  const Node node = found->second;
  if (entries_[node].page == page) return node;
  if (pages_.owner_count(entries_[node].page) > 0) return std::nullopt;
  replace_page(node, page);
  return node;
}

PrefixCache::Node PrefixCache::publish_last(uint64_t tenant, Node parent, const Label& label, contract::PageId page) {
  assert(!label.empty() && label.size() <= page_tokens_);
  if (parent == kRoot) parent = make_root(tenant);
  const Children& children = entries_[parent].children;
  const auto after = children.lower_bound(label);
  if (after != children.end() && is_prefix(label, after->first)) return after->second;  // equal, or it knows more
  return insert(parent, label, page);
}

PrefixCache::Node PrefixCache::make_root(uint64_t tenant) {
  const auto [place, is_new] = roots_.try_emplace(tenant, kRoot);
  if (is_new) {
    place->second = new_entry();
    entries_[place->second].tenant = tenant;
  }
  return place->second;
}

PrefixCache::Node PrefixCache::new_entry() {
  if (unused_.empty()) {
    entries_.emplace_back();
    return static_cast<Node>(entries_.size() - 1);
  }
  const Node node = unused_.back();
  unused_.pop_back();
  entries_[node] = Entry{};
  return node;
}

PrefixCache::Node PrefixCache::insert(Node parent, const Label& label, contract::PageId page) {
  const Node node = new_entry();
  Entry& entry = entries_[node];
  entry.parent = parent;
  entry.page = page;
  entry.used_tick = tick_;
  entry.place = entries_[parent].children.emplace(label, node).first;
  nodes_[page.value] = node;
  pages_.cache(page);
  remove_superseded(parent, entry.place);
  refresh(parent);
  refresh(node);
  return node;
}

// A short label is of no use beside one that begins with it. It stands right before it: whatever stood between the two
// would begin with it as well, and have superseded it.
void PrefixCache::remove_superseded(Node parent, Children::iterator place) {
  if (place == entries_[parent].children.begin()) return;
  const auto before = std::prev(place);
  if (is_prefix(before->first, place->first)) remove(before->second);
}

void PrefixCache::replace_page(Node node, contract::PageId page) {
  Entry& entry = entries_[node];
  nodes_[entry.page.value] = kRoot;
  pages_.uncache(entry.page);
  entry.page = page;
  nodes_[page.value] = node;
  pages_.cache(page);
  use(node);
}

void PrefixCache::remove(Node node) {
  Entry& entry = entries_[node];
  assert(entry.children.empty());
  if (entry.is_evictable) to_evict_.erase({entry.used_tick, node});
  nodes_[entry.page.value] = kRoot;
  pages_.uncache(entry.page);
  const Node parent = entry.parent;
  entries_[parent].children.erase(entry.place);
  unused_.push_back(node);
  Entry& above = entries_[parent];
  if (above.parent != kRoot) {
    refresh(parent);
  } else if (above.children.empty()) {
    roots_.erase(above.tenant);
    unused_.push_back(parent);
  }
}

void PrefixCache::use(Node node) {
  Entry& entry = entries_[node];
  if (entry.is_evictable) to_evict_.erase({entry.used_tick, node});
  entry.is_evictable = false;
  entry.used_tick = tick_;
  refresh(node);
}

void PrefixCache::refresh(Node node) {
  Entry& entry = entries_[node];
  const bool is_root = entry.parent == kRoot;
  const bool is_evictable = !is_root && entry.children.empty() && pages_.owner_count(entry.page) == 0;
  if (is_evictable == entry.is_evictable) return;
  entry.is_evictable = is_evictable;
  if (is_evictable) {
    to_evict_.insert({entry.used_tick, node});
  } else {
    to_evict_.erase({entry.used_tick, node});
  }
}

}  // namespace takt::scheduler
