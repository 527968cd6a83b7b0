#include "worlds/sim/sim_engine.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace takt::worlds {
namespace {

base::Error broken(contract::RequestId id, const std::string& what) {
  return base::Error{base::ErrorCode::internal, "request " + std::to_string(id.value) + ": " + what};
}

// What stands for a sequence that goes on with `token` after what `before` stands for. Never 0. Source of the constants:
// splitmix64, as in worlds/sim/random.h.
uint64_t mixed(uint64_t before, uint64_t token) {
  uint64_t z = before + token * 0x9e3779b97f4a7c15u + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (z ^ (z >> 31)) | 1;
}

constexpr uint64_t kVocabulary = 32'768;

base::Error broken(const std::string& what) { return base::Error{base::ErrorCode::internal, "plan: " + what}; }

}  // namespace

SimEngine::SimEngine(const contract::Capacity& capacity)
    : capacity_(capacity),
      owner_counts_(capacity.page_count, 0),
      contents_(size_t{capacity.page_count} * capacity.page_tokens, 0) {}

void SimEngine::admit(const contract::Request& request, uint32_t output_tokens_max, uint32_t output_tokens,
                      const Tokens& answer) {
  assert(!books_.contains(request.id) && output_tokens > 0);
  Book& book = books_[request.id];
  book.prompt_tokens = static_cast<uint32_t>(request.prompt->size());
  book.output_tokens_max = output_tokens_max;
  book.output_tokens = output_tokens;
  book.answer = answer;
  book.contents.reserve(book.prompt_tokens);
  uint64_t content = mixed(0, request.tenant);
  for (const contract::TokenId token : *request.prompt) {
    content = mixed(content, static_cast<uint64_t>(token));
    book.contents.push_back(content);
  }
}

base::Status SimEngine::start(const contract::StepPlan& plan) {
  if (base::Status status = check_limits(plan); !status.ok()) return status;
  for (const contract::RequestId id : plan.preempted) {
    const auto found = books_.find(id);
    if (found == books_.end() || found->second.pages.empty()) return broken(id, "preempted, but it owns no page");
    drop_pages(found->second);
    found->second.evaluated = 0;
  }
  for (const contract::PageCopy& copy : plan.page_copies) {
    if (base::Status status = enter_copy(copy); !status.ok()) return status;
  }
  for (const contract::PrefillChunk& chunk : plan.prefill_chunks) {
    if (base::Status status = enter_chunk(chunk, plan.step); !status.ok()) return status;
  }
  for (const contract::DecodeRow& row : plan.decode_rows) {
    if (base::Status status = enter_row(row, plan.step); !status.ok()) return status;
  }
  if (owners_ > capacity_.rows_max) {
    return broken(std::to_string(owners_) + " requests own pages, the limit of rows is " +
                  std::to_string(capacity_.rows_max));
  }
  steps_ = plan.step;
  plan_ = &plan;
  return {};
}

base::Status SimEngine::check_limits(const contract::StepPlan& plan) const {
  if (!plan.has_work()) return broken("no work");
  if (plan.step != steps_ + 1) return broken("step " + std::to_string(plan.step) + " after " + std::to_string(steps_));
  uint64_t prefill_tokens = 0;
  for (const contract::PrefillChunk& chunk : plan.prefill_chunks) {
    if (chunk.end <= chunk.begin) return broken(chunk.request, "an empty chunk");
    prefill_tokens += chunk.end - chunk.begin;
  }
  const uint64_t tokens = prefill_tokens + plan.decode_rows.size();
  if (tokens > capacity_.step_tokens_max) {
    return broken(std::to_string(tokens) + " tokens, the limit is " + std::to_string(capacity_.step_tokens_max));
  }
  if (capacity_.chunk_tokens_beside_decode > 0 && !plan.decode_rows.empty() &&
      prefill_tokens > capacity_.chunk_tokens_beside_decode) {
    return broken(std::to_string(prefill_tokens) + " prompt tokens beside decode rows, the limit is " +
                  std::to_string(capacity_.chunk_tokens_beside_decode));
  }
  return {};
}

base::Status SimEngine::enter_copy(const contract::PageCopy& copy) {
  const auto [from, to] = std::pair(copy.from.value, copy.to.value);
  const std::string name = "copy " + std::to_string(from) + ">" + std::to_string(to);
  if (from >= capacity_.page_count || to >= capacity_.page_count) return broken(name + ": no such page");
  if (owner_counts_[to] > 0) return broken(name + ": the target is in use");
  const auto slots = static_cast<std::ptrdiff_t>(capacity_.page_tokens);
  std::copy_n(contents_.begin() + from * slots, slots, contents_.begin() + to * slots);
  add_owner(copy.from);
  copied_.push_back(copy.from);
  return {};
}

base::Status SimEngine::enter_chunk(const contract::PrefillChunk& chunk, uint64_t step) {
  const base::Result<Book*> entered = enter(chunk.request, chunk.pages_added, chunk.begin, chunk.end, step);
  if (!entered.ok()) return entered.error();
  const Book& book = **entered;
  if (chunk.begin != book.evaluated) {
    return broken(chunk.request, "a chunk begins at " + std::to_string(chunk.begin) + ", but " +
                                     std::to_string(book.evaluated) + " positions are evaluated");
  }
  if (chunk.end > book.length()) return broken(chunk.request, "a chunk ends behind the sequence");
  if (chunk.is_last != (chunk.end == book.length())) return broken(chunk.request, "is_last is wrong");
  return {};
}

base::Status SimEngine::enter_row(const contract::DecodeRow& row, uint64_t step) {
  const base::Result<Book*> entered = enter(row.request, row.pages_added, row.position, row.position + 1, step);
  if (!entered.ok()) return entered.error();
  const Book& book = **entered;
  if (book.produced == 0) return broken(row.request, "a decode row before the first token");
  if (row.position != book.length() - 1 || row.position != book.evaluated) {
    return broken(row.request, "a decode row at " + std::to_string(row.position) + ", but the newest of " +
                                   std::to_string(book.length()) + " tokens is due, after " +
                                   std::to_string(book.evaluated) + " evaluated ones");
  }
  return {};
}

base::Result<SimEngine::Book*> SimEngine::enter(contract::RequestId id,
                                                const std::vector<contract::PageId>& pages_added, uint32_t begin,
                                                uint32_t end, uint64_t step) {
  const auto found = books_.find(id);
  if (found == books_.end()) return broken(id, "not admitted, or released");
  Book& book = found->second;
  if (book.has_ended) return broken(id, "it has ended");
  if (book.last_step == step) return broken(id, "two rows in one step");
  book.last_step = step;
  const bool is_first = book.pages.empty();
  if (is_first && !pages_added.empty()) ++owners_;
  for (const contract::PageId page : pages_added) {
    if (page.value >= capacity_.page_count) return broken(id, "page " + std::to_string(page.value) + " does not exist");
    add_owner(page);
    book.pages.push_back(page);
  }
  const uint64_t positions = uint64_t{book.pages.size()} * capacity_.page_tokens;
  if (positions < end) return broken(id, "position " + std::to_string(end - 1) + " has no page");
  if (positions - end >= capacity_.page_tokens) return broken(id, "more pages than positions need");
  for (size_t i = begin / capacity_.page_tokens; i < book.pages.size(); ++i) {
    const contract::PageId page = book.pages[i];
    if (owner_counts_[page.value] > 1) return broken(id, "page " + std::to_string(page.value) + " is in use");
  }
  if (is_first && begin < book.length()) {  // behind what others have evaluated
    if (base::Status status = check_contents(id, book, begin); !status.ok()) return status.error();
    book.evaluated = begin;
  }
  return &book;
}

base::Status SimEngine::check_contents(contract::RequestId id, const Book& book, uint32_t begin) const {
  for (uint32_t position = 0; position < begin; ++position) {
    const contract::PageId page = book.pages[position / capacity_.page_tokens];
    const size_t slot = size_t{page.value} * capacity_.page_tokens + position % capacity_.page_tokens;
    if (contents_[slot] == book.contents[position]) continue;
    return broken(id, "page " + std::to_string(page.value) + " does not hold its position " + std::to_string(position));
  }
  return {};
}

void SimEngine::add_owner(contract::PageId page) {
  if (owner_counts_[page.value]++ == 0) ++pages_owned_;
}

void SimEngine::drop_owner(contract::PageId page) {
  if (--owner_counts_[page.value] == 0) --pages_owned_;
}

void SimEngine::evaluate(Book& book, uint32_t begin, uint32_t end) {
  for (uint32_t position = begin; position < end; ++position) {
    const contract::PageId page = book.pages[position / capacity_.page_tokens];
    contents_[size_t{page.value} * capacity_.page_tokens + position % capacity_.page_tokens] = book.contents[position];
  }
  book.evaluated = end;
}

std::vector<contract::RowResult> SimEngine::complete() {
  std::vector<contract::RowResult> rows;
  rows.reserve(plan_->prefill_chunks.size() + plan_->decode_rows.size());
  for (const contract::PrefillChunk& chunk : plan_->prefill_chunks) {
    evaluate(books_.at(chunk.request), chunk.begin, chunk.end);
    if (chunk.is_last) {
      rows.push_back(yield(chunk.request, contract::Phase::prefill));
    } else {
      rows.push_back({chunk.request, contract::Phase::prefill, 0, contract::FinishReason::none, {}});
    }
  }
  for (const contract::DecodeRow& row : plan_->decode_rows) {
    evaluate(books_.at(row.request), row.position, row.position + 1);
    rows.push_back(yield(row.request, contract::Phase::decode));
  }
  plan_ = nullptr;
  for (const contract::PageId page : copied_) drop_owner(page);
  copied_.clear();
  return rows;
}

contract::RowResult SimEngine::yield(contract::RequestId id, contract::Phase phase) {
  Book& book = books_.at(id);
  contract::RowResult result{id, phase, 0, contract::FinishReason::none, {}};
  if (book.output_tokens_max > 0) {
    const bool is_given = book.answer && book.produced < book.answer->size();
    const auto token = is_given ? (*book.answer)[book.produced]
                                : static_cast<contract::TokenId>(book.contents.back() / 2 % kVocabulary);
    result.tokens_accepted = 1;
    result.tokens = {token};
    book.contents.push_back(mixed(book.contents.back(), static_cast<uint64_t>(token)));
    ++book.produced;
  }
  if (book.produced == book.output_tokens_max) result.finish = contract::FinishReason::length;
  if (book.produced == book.output_tokens) result.finish = contract::FinishReason::stop;
  book.has_ended = result.finish != contract::FinishReason::none;
  return result;
}

void SimEngine::release(contract::RequestId id) {
  const auto found = books_.find(id);
  if (found == books_.end()) return;
  drop_pages(found->second);
  books_.erase(found);
}

void SimEngine::drop_pages(Book& book) {
  if (!book.pages.empty()) --owners_;
  for (const contract::PageId page : book.pages) drop_owner(page);
  book.pages.clear();
}

}  // namespace takt::worlds
