#include "scheduler/pages/residents.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

namespace takt::scheduler {

Residents::Residents(const contract::Capacity& capacity, const contract::ServicePolicy& policy,
                     const StepEstimator& estimator, PrefillQueue& queue)
    : page_tokens_(capacity.page_tokens),
      rows_max_(capacity.rows_max),
      has_prefix_cache_(capacity.has_prefix_cache),
      cache_(capacity.page_count, capacity.page_tokens),
      policy_(policy),
      estimator_(estimator),
      queue_(queue) {}

bool Residents::try_start(Sequence& sequence, contract::StepPlan& plan) {
  if (count() >= rows_max_ && sequence.rank > (*residents_.rbegin())->rank) return false;  // at once: no search
  PrefixCache::Hit hit = find_hit(sequence);
  if (!has_room_for(sequence, hit, 0) && !try_evict(sequence, hit, plan)) return false;
  if (std::find(plan.preempted.begin(), plan.preempted.end(), sequence.id) != plan.preempted.end()) return false;
  queue_.remove(sequence);
  sequence.stage = Stage::prefilling;
  sequence.has_given_way = false;
  take_hit(sequence, hit, plan);
  residents_.insert(&sequence);
  return true;
}

// One that has produced tokens was preempted: whoever wanted every position of the prompt evaluated has had that.
bool Residents::can_read_cache(const Sequence& sequence) const {
  return has_prefix_cache_ && (sequence.reads_prefix_cache || sequence.tokens_produced > 0);
}

// At least the last token is evaluated, for its logits.
PrefixCache::Hit Residents::find_hit(const Sequence& sequence) const {
  if (!can_read_cache(sequence)) return {};
  return cache_.find(sequence.tenant, sequence.tokens(), sequence.length() - 1);
}

uint32_t Residents::cached_tokens(const Sequence& sequence) const {
  const PrefixCache::Hit hit = find_hit(sequence);
  return static_cast<uint32_t>(hit.pages.size()) * page_tokens_ + hit.copy_tokens;
}

void Residents::take_hit(Sequence& sequence, const PrefixCache::Hit& hit, contract::StepPlan& plan) {
  const bool has_room_for_copy = hit.copy_from && has_room_for(sequence, hit, 1);
  cache_.take(hit);
  sequence.pages = hit.pages;
  sequence.node = hit.last;
  sequence.pages_published = static_cast<uint32_t>(hit.pages.size());
  sequence.tokens_evaluated = sequence.pages_published * page_tokens_;
  if (has_room_for_copy) {
    cache_.add_owner(*hit.copy_from);  // so that it is not the one taken
    const contract::PageId to = *cache_.try_take_page();
    plan.page_copies.push_back({*hit.copy_from, to});
    copied_.push_back({&sequence, *hit.copy_from, to});
    sequence.pages.push_back(to);
    sequence.tokens_evaluated += hit.copy_tokens;
  }
  const uint32_t lost = sequence.tokens_lost - std::min(sequence.tokens_lost, sequence.tokens_evaluated);
  tokens_lost_ += lost;
  if (lost > 0) time_lost_ += evaluation_time(estimator_, sequence.tokens_evaluated, sequence.tokens_evaluated + lost);
  sequence.tokens_lost = 0;
  if (!can_read_cache(sequence)) return;
  tokens_asked_ += sequence.length();
  tokens_hit_ += sequence.tokens_evaluated;
}

bool Residents::has_room_for(const Sequence& sequence, const PrefixCache::Hit& hit, uint32_t pages_more) const {
  return count() < rows_max_ && cache_.pages().free_count() >= pages_to_start(sequence, hit) + pages_more;
}

// Its own, those that part-done prompts still need, and one for each resident to grow into; without those that others
// own as well.
uint32_t Residents::pages_to_start(const Sequence& sequence, const PrefixCache::Hit& hit) const {
  const auto owned = std::count_if(hit.pages.begin(), hit.pages.end(),
                                   [&](contract::PageId page) { return cache_.pages().owner_count(page) > 0; });
  return pages_for(sequence.length(), page_tokens_) + pages_promised() + count() - static_cast<uint32_t>(owned);
}

// Pages that residents still need for what they are prefilling.
uint32_t Residents::pages_promised() const {
  uint32_t page_count = 0;
  for (const Sequence* resident : residents_) {
    if (resident->stage != Stage::prefilling) continue;
    page_count += pages_for(resident->length(), page_tokens_) - static_cast<uint32_t>(resident->pages.size());
  }
  return page_count;
}

// Pages that only the planned step's copies keep from being free.
uint32_t Residents::pages_copied() const {
  return static_cast<uint32_t>(std::count_if(copied_.begin(), copied_.end(), [&](const Copied& copied) {
    return cache_.pages().owner_count(copied.from) == 1;
  }));
}

PreemptionLoss Residents::loss(const Sequence& resident) const {
  return loss_of(resident, cache_.pages(), page_tokens_, policy_, estimator_, now_);
}

std::vector<Sequence*> Residents::victims_of(const Sequence& sequence) const {
  std::vector<std::pair<PreemptionLoss, Sequence*>> losses;
  for (auto it = residents_.upper_bound(sequence.rank); it != residents_.end(); ++it)
    losses.emplace_back(loss(**it), *it);
  std::sort(losses.begin(), losses.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Sequence*> victims;
  for (const auto& [lost, victim] : losses) victims.push_back(victim);
  return victims;
}

Sequence* Residents::cheapest_victim_of(const Sequence& sequence) const {
  const std::vector<Sequence*> victims = victims_of(sequence);
  return victims.empty() ? nullptr : victims.front();
}

// Takes rows and pages from residents that rank behind it, if that makes room for it. `hit`: as it is then.
bool Residents::try_evict(const Sequence& sequence, PrefixCache::Hit& hit, contract::StepPlan& plan) {
  // Pages that are copied in this step come back at its end: nobody gives way for them.
  if (sequence.has_given_way || (pages_copied() > 0 && count() < rows_max_)) return false;
  const std::vector<Sequence*> victims = victims_of(sequence);
  if (!can_evict_enough(sequence, hit, victims)) return false;
  for (auto victim = victims.begin(); !has_room_for(sequence, hit, 0); ++victim) {
    preempt(**victim, plan);
    hit = find_hit(sequence);  // what it has evaluated is cached now
  }
  return true;
}

// Would preempting these, one after another, make room?
bool Residents::can_evict_enough(const Sequence& sequence, const PrefixCache::Hit& hit,
                                 const std::vector<Sequence*>& victims) const {
  uint32_t pages_needed = pages_to_start(sequence, hit);
  uint32_t rows = count();
  uint64_t pages_free = cache_.pages().free_count();
  std::map<contract::PageId, uint32_t> owners_left;  // of the shared pages met so far
  for (const Sequence* victim : victims) {
    const Sequence& resident = *victim;
    rows -= 1;
    for (const contract::PageId page : resident.pages) {
      const uint32_t owners = cache_.pages().owner_count(page);
      if (owners > 1 && --owners_left.try_emplace(page, owners).first->second > 0) continue;
      pages_free += 1;
      if (std::find(hit.pages.begin(), hit.pages.end(), page) != hit.pages.end()) pages_needed += 1;
    }
    pages_needed -= 1;  // nothing is kept for it to grow into
    if (resident.stage == Stage::prefilling) {
      pages_needed -= pages_for(resident.length(), page_tokens_) - static_cast<uint32_t>(resident.pages.size());
    }
    if (rows < rows_max_ && pages_free >= pages_needed) return true;
  }
  return false;
}

uint32_t Residents::grow(Sequence& sequence, uint32_t tokens, contract::StepPlan& plan,
                         std::vector<contract::PageId>& pages_added) {
  const uint32_t pages_wanted = pages_for(tokens, page_tokens_);
  while (sequence.pages.size() < pages_wanted) {
    const std::optional<contract::PageId> page = cache_.try_take_page();
    if (page) {
      sequence.pages.push_back(*page);
      continue;
    }
    Sequence* victim = cheapest_victim_of(sequence);
    if (!victim) break;  // it ranks last: it stands still and keeps what it has
    preempt(*victim, plan);
  }
  const auto held = static_cast<uint32_t>(std::min<uint64_t>(tokens, uint64_t{sequence.pages.size()} * page_tokens_));
  if (held > sequence.tokens_evaluated) {
    pages_added.insert(pages_added.end(), sequence.pages.begin() + sequence.pages_sent, sequence.pages.end());
    sequence.pages_sent = static_cast<uint32_t>(sequence.pages.size());
  }
  return held;
}

void Residents::preempt(Sequence& victim, contract::StepPlan& plan) {
  assert(!victim.is_in_step);
  // The step is not planned in rank order throughout, so one that ranks before it may still take its place in it.
  std::erase_if(plan.decode_rows, [&](const contract::DecodeRow& row) { return row.request == victim.id; });
  std::erase_if(plan.prefill_chunks, [&](const contract::PrefillChunk& chunk) { return chunk.request == victim.id; });
  drop_copies_for(victim, plan);
  victim.tokens_lost = victim.tokens_evaluated;
  publish_all(victim);
  release_pages(victim);
  residents_.erase(&victim);
  victim.stage = Stage::waiting;
  victim.has_given_way = true;
  victim.tokens_evaluated = 0;
  queue_.add(victim);
  plan.preempted.push_back(victim.id);
}

void Residents::remove(Sequence& sequence, bool is_kept) {
  if (is_kept) publish_all(sequence);
  release_pages(sequence);
  residents_.erase(&sequence);
}

void Residents::end_step() {
  for (const Copied& copied : copied_) cache_.release_page(copied.from);
  copied_.clear();
}

// It started in this very step and gives way already: the copy is not made.
void Residents::drop_copies_for(Sequence& sequence, contract::StepPlan& plan) {
  for (const Copied& copied : copied_) {
    if (copied.sequence != &sequence) continue;
    cache_.release_page(copied.from);
    std::erase(plan.page_copies, contract::PageCopy{copied.from, copied.to});
    sequence.tokens_evaluated -= sequence.tokens_evaluated % page_tokens_;
  }
  std::erase_if(copied_, [&](const Copied& copied) { return copied.sequence == &sequence; });
}

std::vector<contract::TokenId> Residents::label(const Sequence& sequence, uint32_t begin, uint32_t end) const {
  const TokenView tokens = sequence.tokens();
  std::vector<contract::TokenId> ids;
  ids.reserve(end - begin);
  for (uint32_t i = begin; i < end; ++i) ids.push_back(tokens[i]);
  return ids;
}

void Residents::publish(Sequence& sequence) {
  if (!has_prefix_cache_) return;
  const uint32_t known = std::min(sequence.tokens_evaluated, sequence.tokens().size());
  while (sequence.is_published && (sequence.pages_published + 1) * page_tokens_ <= known) {
    const uint32_t begin = sequence.pages_published * page_tokens_;
    const auto node = cache_.try_publish(sequence.tenant, sequence.node, label(sequence, begin, begin + page_tokens_),
                                         sequence.pages[sequence.pages_published]);
    sequence.is_published = node.has_value();
    if (!node) return;
    sequence.node = *node;
    ++sequence.pages_published;
  }
}

// Before its pages are released: also what it kept private, and the page that is not full.
void Residents::publish_all(Sequence& sequence) {
  if (!has_prefix_cache_) return;
  cache_.advance();
  publish(sequence);
  const uint32_t known = std::min(sequence.tokens_evaluated, sequence.tokens().size());
  for (uint32_t begin = sequence.pages_published * page_tokens_; begin < known; begin += page_tokens_) {
    const uint32_t end = std::min(begin + page_tokens_, known);
    sequence.node = cache_.publish_last(sequence.tenant, sequence.node, label(sequence, begin, end),
                                        sequence.pages[begin / page_tokens_]);
  }
}

void Residents::release_pages(Sequence& sequence) {
  // From the last to the first, so that the pool gives them out in the same order again.
  for (auto it = sequence.pages.rbegin(); it != sequence.pages.rend(); ++it) cache_.release_page(*it);
  sequence.pages.clear();
  sequence.pages_sent = 0;
  sequence.node = PrefixCache::kRoot;
  sequence.pages_published = 0;
  sequence.is_published = true;
}

void Residents::count_pages(contract::Bounds& bounds) const {
  bounds.pages_used = cache_.pages().used_count();
  bounds.pages_free = cache_.pages().free_count();
  bounds.pages_cached = cache_.pages().idle_count();
  bounds.prefix_tokens_asked = tokens_asked_;
  bounds.prefix_tokens_hit = tokens_hit_;
  bounds.prefix_pages_evicted = cache_.evicted_count();
  bounds.preempted_tokens_lost = tokens_lost_;
  bounds.preempted_time_lost = time_lost_;
}

Sequence* Residents::first_after(const Rank& rank, Stage stage) const {
  for (auto it = residents_.upper_bound(rank); it != residents_.end(); ++it) {
    if ((*it)->stage == stage) return *it;
  }
  return nullptr;
}

}  // namespace takt::scheduler
