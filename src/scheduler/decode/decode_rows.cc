#include "scheduler/decode/decode_rows.h"

#include <utility>

namespace takt::scheduler {

void plan_decode_rows(Residents& residents, contract::StepPlan& plan) {
  Rank rank;  // before every other
  while (Sequence* sequence = residents.first_after(rank, Stage::decoding)) {
    rank = sequence->rank;
    contract::DecodeRow row;
    row.request = sequence->id;
    row.position = sequence->length() - 1;
    const uint32_t tokens = row.position + 1;
    if (residents.grow(*sequence, tokens, plan, row.pages_added) < tokens) continue;
    plan.decode_rows.push_back(std::move(row));
  }
}

}  // namespace takt::scheduler
