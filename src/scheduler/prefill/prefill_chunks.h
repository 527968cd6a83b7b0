// The prefill half of a step: which prompts, and how much of each.
#pragma once

#include <cstdint>

#include "contract/model_shape.h"
#include "contract/step_plan.h"
#include "scheduler/pages/residents.h"
#include "scheduler/prefill/prefill_queue.h"

namespace takt::scheduler {

// Prompt tokens that a step may evaluate beside `decode_row_count` decode rows.
uint32_t prefill_budget(const contract::Capacity& capacity, uint32_t decode_row_count);

// Adds prefill chunks of `budget` tokens at most: part-done and waiting sequences in one rank order, each as far as the
// budget reaches. The first waiting sequence that finds no room holds back those behind it (or small requests could
// pass a large one for ever), but not the part-done ones.
void plan_prefill_chunks(PrefillQueue& queue, Residents& residents, uint32_t budget, contract::StepPlan& plan);

}  // namespace takt::scheduler
