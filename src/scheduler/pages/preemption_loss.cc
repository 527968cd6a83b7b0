#include "scheduler/pages/preemption_loss.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace takt::scheduler {
namespace {

// What its class's limit leaves until its next token is late. Nothing: the class has no limit.
std::optional<base::Micros> slack(const Sequence& resident, const contract::ServicePolicy& policy, base::Micros now) {
  const contract::ClassLimits& limits = policy.of(resident.service_class);
  const bool has_token = resident.tokens_produced > 0;
  const auto& limit = has_token ? limits.itl_max : limits.ttft_max;
  if (!limit) return std::nullopt;
  return *limit - (now - (has_token ? resident.last_token : resident.submitted));
}

}  // namespace

bool operator<(const PreemptionLoss& a, const PreemptionLoss& b) {
  // Ranks the other way round: of two that lose the same the later one gives way.
  return std::tie(a.frees_nothing, a.late, b.service_class, a.again, b.rank) <
         std::tie(b.frees_nothing, b.late, a.service_class, b.again, a.rank);
}

base::Micros evaluation_time(const StepEstimator& estimator, uint32_t begin, uint32_t end) {
  if (!estimator.is_ready()) return base::Micros(end - begin);
  StepShape shape;
  shape.add_prefill(begin, end, false);
  return estimator.predict(shape);
}

PreemptionLoss loss_of(const Sequence& resident, const PagePool& pages, uint32_t page_tokens,
                       const contract::ServicePolicy& policy, const StepEstimator& estimator, base::Micros now) {
  // Shared pages are those of the beginning: an owner of a page owns all before it.
  uint32_t shared = 0;
  while (shared < resident.pages.size() && pages.owner_count(resident.pages[shared]) > 1) ++shared;
  PreemptionLoss loss;
  loss.frees_nothing = shared == resident.pages.size();
  loss.again =
      evaluation_time(estimator, std::min(shared * page_tokens, resident.tokens_evaluated), resident.tokens_evaluated);
  if (const auto left = slack(resident, policy, now)) loss.late = std::max(loss.again - *left, base::Micros(0));
  loss.service_class = resident.service_class;
  loss.rank = resident.rank;
  return loss;
}

}  // namespace takt::scheduler
