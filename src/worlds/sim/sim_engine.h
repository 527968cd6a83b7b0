// An engine without arithmetic: it keeps the books a real one would keep, refuses a plan that a real one could not
// execute, and yields as many tokens as each request was told to.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "contract/model_shape.h"
#include "contract/request.h"
#include "contract/step_plan.h"

namespace takt::worlds {

class SimEngine {
 public:
  explicit SimEngine(const contract::Capacity& capacity);

  // `output_tokens_max` is the admitted limit; the answer stops by itself after `output_tokens` (> 0) if that comes
  // first. Precondition: the id is new.
  void admit(contract::RequestId id, uint32_t prompt_tokens, uint32_t output_tokens_max, uint32_t output_tokens);
  // Checks the whole plan and enters it in the books. Errors: internal, a sentence that names the request and what is
  // wrong: a limit of the capacity is exceeded; a request is unknown or occurs twice; a chunk does not begin where the
  // last one ended; a position has no page; a page has two owners; a decode row is not at the newest token.
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
  // Appends the pages, marks the request as part of the step, and checks that `tokens` positions have a page.
  base::Result<Book*> enter(contract::RequestId id, const std::vector<contract::PageId>& pages_added, uint32_t tokens,
                            uint64_t step);
  void drop_pages(Book& book);
  contract::RowResult yield(contract::RequestId id, contract::Phase phase);

  contract::Capacity capacity_;
  std::map<contract::RequestId, Book> books_;
  std::vector<bool> is_owned_;  // [page]
  uint32_t pages_owned_ = 0;
  uint32_t owners_ = 0;  // requests that own a page
  uint64_t steps_ = 0;
  contract::StepPlan plan_;  // the running step
};

}  // namespace takt::worlds
