#include "worlds/sim/sim_engine.h"

#include <cassert>
#include <utility>

namespace takt::worlds {
namespace {

base::Error broken(contract::RequestId id, const std::string& what) {
  return base::Error{base::ErrorCode::internal, "request " + std::to_string(id.value) + ": " + what};
}

base::Error broken(const std::string& what) { return base::Error{base::ErrorCode::internal, "plan: " + what}; }

}  // namespace

SimEngine::SimEngine(const contract::Capacity& capacity) : capacity_(capacity), is_owned_(capacity.page_count, false) {}

void SimEngine::admit(contract::RequestId id, uint32_t prompt_tokens, uint32_t output_tokens_max,
                      uint32_t output_tokens) {
  assert(!books_.contains(id) && output_tokens > 0);
  Book& book = books_[id];
  book.prompt_tokens = prompt_tokens;
  book.output_tokens_max = output_tokens_max;
  book.output_tokens = output_tokens;
}

base::Status SimEngine::start(const contract::StepPlan& plan) {
  if (base::Status status = check_limits(plan); !status.ok()) return status;
  for (const contract::RequestId id : plan.preempted) {
    const auto found = books_.find(id);
    if (found == books_.end() || found->second.pages.empty()) return broken(id, "preempted, but it owns no page");
    drop_pages(found->second);
    found->second.evaluated = 0;
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
  plan_ = plan;
  return {};
}

base::Status SimEngine::check_limits(const contract::StepPlan& plan) const {
  if (!plan.has_work()) return broken("no work");
  if (plan.step != steps_ + 1) return broken("step " + std::to_string(plan.step) + " after " + std::to_string(steps_));
  if (!plan.page_copies.empty()) return broken("page copies, though no page is shared");
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

base::Status SimEngine::enter_chunk(const contract::PrefillChunk& chunk, uint64_t step) {
  const base::Result<Book*> entered = enter(chunk.request, chunk.pages_added, chunk.end, step);
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
  const base::Result<Book*> entered = enter(row.request, row.pages_added, row.position + 1, step);
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
                                                const std::vector<contract::PageId>& pages_added, uint32_t tokens,
                                                uint64_t step) {
  const auto found = books_.find(id);
  if (found == books_.end()) return broken(id, "not admitted, or released");
  Book& book = found->second;
  if (book.has_ended) return broken(id, "it has ended");
  if (book.last_step == step) return broken(id, "two rows in one step");
  book.last_step = step;
  if (book.pages.empty() && !pages_added.empty()) ++owners_;
  for (const contract::PageId page : pages_added) {
    if (page.value >= is_owned_.size()) return broken(id, "page " + std::to_string(page.value) + " does not exist");
    if (is_owned_[page.value]) return broken(id, "page " + std::to_string(page.value) + " is in use");
    is_owned_[page.value] = true;
    ++pages_owned_;
    book.pages.push_back(page);
  }
  const uint64_t positions = uint64_t{book.pages.size()} * capacity_.page_tokens;
  if (positions < tokens) return broken(id, "position " + std::to_string(tokens - 1) + " has no page");
  if (positions - tokens >= capacity_.page_tokens) return broken(id, "more pages than positions need");
  return &book;
}

std::vector<contract::RowResult> SimEngine::complete() {
  std::vector<contract::RowResult> rows;
  rows.reserve(plan_.prefill_chunks.size() + plan_.decode_rows.size());
  for (const contract::PrefillChunk& chunk : plan_.prefill_chunks) {
    books_.at(chunk.request).evaluated = chunk.end;
    if (chunk.is_last) {
      rows.push_back(yield(chunk.request, contract::Phase::prefill));
    } else {
      rows.push_back({chunk.request, contract::Phase::prefill, 0, contract::FinishReason::none});
    }
  }
  for (const contract::DecodeRow& row : plan_.decode_rows) {
    books_.at(row.request).evaluated = row.position + 1;
    rows.push_back(yield(row.request, contract::Phase::decode));
  }
  plan_ = {};
  return rows;
}

contract::RowResult SimEngine::yield(contract::RequestId id, contract::Phase phase) {
  Book& book = books_.at(id);
  contract::RowResult result{id, phase, 0, contract::FinishReason::none};
  if (book.output_tokens_max > 0) {
    result.tokens_accepted = 1;
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
  for (const contract::PageId page : book.pages) is_owned_[page.value] = false;
  pages_owned_ -= static_cast<uint32_t>(book.pages.size());
  book.pages.clear();
}

}  // namespace takt::worlds
