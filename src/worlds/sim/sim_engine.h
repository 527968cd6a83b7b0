// An engine without arithmetic: it keeps the books a real one would keep, refuses a plan that a real one could not
// execute, and yields as many tokens as each request was told to. Instead of keys and values, a position of a page holds
// a number that stands for all tokens up to it (and their tenant), so that a page shared wrongly is seen.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "contract/model_shape.h"
#include "contract/request.h"
#include "contract/step_plan.h"

namespace takt::worlds {

class SimEngine {
 public:
  explicit SimEngine(const contract::Capacity& capacity);

  using Tokens = std::shared_ptr<const std::vector<contract::TokenId>>;
  // `output_tokens_max` is the admitted limit; the answer stops by itself after `output_tokens` (> 0) if that comes
  // first. `answer`: its first tokens' ids (may be null); the others depend on all tokens before, as those of a model.
  // Precondition: the id is new.
  void admit(const contract::Request& request, uint32_t output_tokens_max, uint32_t output_tokens,
             const Tokens& answer = nullptr);
  // Checks the whole plan and enters it in the books; the plan must live until complete(). Errors: internal, a sentence that
  // names the request and what is
  // wrong: a limit of the capacity is exceeded; a request is unknown or occurs twice; a chunk does not begin where the
  // last one ended; a position has no page, or its page does not hold what was evaluated for it; a page that is written
  // to has two owners; a decode row is not at the newest token.
  base::Status start(const contract::StepPlan& plan);
  // The running step's rows. Precondition: start() succeeded. Requests that end here are known until release().
  std::vector<contract::RowResult> complete();
  // Forgets the request, its pages are free. Not while a step runs. Unknown ids are ignored.
  void release(contract::RequestId id);

  uint32_t pages_owned() const { return pages_owned_; }
  size_t request_count() const { return books_.size(); }

 private:
  struct Book {
    uint32_t prompt_tokens = 0;
    Tokens answer;
    std::vector<uint64_t> contents;  // [position], of all tokens known
    uint32_t output_tokens_max = 0;
    uint32_t output_tokens = 0;
    uint32_t produced = 0;
    uint32_t evaluated = 0;
    std::vector<contract::PageId> pages;
    uint64_t last_step = 0;
    bool has_ended = false;
    uint32_t length() const { return prompt_tokens + produced; }
  };

  base::Status check_limits(const contract::StepPlan& plan) const;
  base::Status enter_chunk(const contract::PrefillChunk& chunk, uint64_t step);
  base::Status enter_row(const contract::DecodeRow& row, uint64_t step);
  base::Status enter_copy(const contract::PageCopy& copy);
  // Appends the pages, marks the request as part of the step, and checks that positions [0, begin) hold what they should
  // and [begin, end) have pages of its own.
  base::Result<Book*> enter(contract::RequestId id, const std::vector<contract::PageId>& pages_added, uint32_t begin,
                            uint32_t end, uint64_t step);
  base::Status check_contents(contract::RequestId id, const Book& book, uint32_t begin) const;
  void add_owner(contract::PageId page);
  void drop_owner(contract::PageId page);
  void evaluate(Book& book, uint32_t begin, uint32_t end);
  void drop_pages(Book& book);
  contract::RowResult yield(contract::RequestId id, contract::Phase phase);

  contract::Capacity capacity_;
  std::unordered_map<contract::RequestId, Book> books_;
  std::vector<uint32_t> owner_counts_;    // [page]
  std::vector<uint64_t> contents_;        // [page][slot]; 0: never written
  std::vector<contract::PageId> copied_;  // owned by the running step
  uint32_t pages_owned_ = 0;
  uint32_t owners_ = 0;  // requests that own a page
  uint64_t steps_ = 0;
  const contract::StepPlan* plan_ = nullptr;  // the running step
};

}  // namespace takt::worlds
