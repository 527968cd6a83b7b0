// The prefill half of a step: which prompts, and how much of each.
#pragma once

#include "contract/service_policy.h"
#include "contract/step_plan.h"
#include "scheduler/pages/residents.h"
#include "scheduler/prefill/prefill_queue.h"
#include "scheduler/prefill/start_gate.h"
#include "scheduler/step_budget.h"

namespace takt::scheduler {

class PrefillTurns {
 public:
  // `first_class`: the best class that has any work.
  PrefillTurns(PrefillQueue& queue, Residents& residents, const StartGate& gate, contract::ServiceClass first_class,
               base::Micros now)
      : queue_(queue), residents_(residents), gate_(gate), first_class_(first_class), now_(now) {}

  // Adds chunks while the step stays within its tokens and time: part-done and waiting sequences in one rank order, each as
  // far as it goes. The first of them gets a smallest chunk whatever it takes, if it is of the first class, or its time has come
  // (rank.due is past), or the step has no other work.
  // The first waiting sequence that finds no pages holds back those behind it (or small requests could pass a large one for
  // ever), but not the part-done ones; one that the gate holds back does so to its own class.
  void plan(StepBudget& budget, contract::StepPlan& plan);

 private:
  bool is_owed_a_chunk(const Sequence& sequence, const contract::StepPlan& plan) const;
  uint32_t tokens_for(const Sequence& sequence, uint32_t begin, const StepBudget& budget,
                      const contract::StepPlan& plan) const;
  bool try_start(Sequence& newcomer, contract::StepPlan& plan);

  PrefillQueue& queue_;
  Residents& residents_;
  StartGate gate_;
  contract::ServiceClass first_class_;
  base::Micros now_;
  ClassSet cannot_start_;
};

}  // namespace takt::scheduler
