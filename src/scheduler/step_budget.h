// How much still fits into the step being planned: in tokens, and in time by the estimator's word.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"
#include "contract/model_shape.h"
#include "scheduler/step_estimator.h"

namespace takt::scheduler {

// A chunk is not made smaller than this for the sake of time: a prompt that is never left without these cannot starve. On a
// machine whose decode step takes g and a prompt token g/7 (two cores with AVX2, a model of 0.5B), a limit of 2.5 g leaves room
// for ten tokens beside four chats: a coarser grain would break such limits or waste a third of the room.
inline constexpr uint32_t kChunkTokensMin = 4;
// Larger chunks are whole tiles of the prefill kernels: a part of one takes nearly as long.
inline constexpr uint32_t kTileTokens = 16;
// The step's time where decode rows have no limit of their own: a gap below one second is kept whatever the machine, with
// room for the margin that a step may miss its prediction by.
inline constexpr base::Micros kStepUsUnlimited{800'000};

class StepBudget {
 public:
  StepBudget(const StepEstimator& estimator, const contract::Capacity& capacity)
      : estimator_(estimator), capacity_(capacity), tokens_left_(capacity.step_tokens_max) {}

  // The step may take so long at most. Only ever lowers what was set before.
  void limit_to(base::Micros step_us_max);
  // No row has a limit: the step may take kStepUsUnlimited, but not longer than makes it more efficient.
  void limit_to_efficient();

  // Whether a decode row at `position` keeps the step within its limits.
  bool fits_decode(uint32_t position) const;
  void add_decode(uint32_t position);
  // The most tokens of a chunk that begins at `begin` of a sequence that is `length` tokens long: 0, or the rest of the
  // sequence, or a multiple of kTileTokens (any number below two tiles), or what the step has room for.
  uint32_t prefill_tokens_fitting(uint32_t begin, uint32_t length) const;
  // The tokens that are planned whatever they take: kChunkTokensMin, as far as the step has room.
  uint32_t prefill_tokens_min(uint32_t begin, uint32_t length) const;
  void add_prefill(uint32_t begin, uint32_t end, bool yields_token);

  const StepShape& shape() const { return shape_; }
  std::optional<base::Micros> step_us_max() const { return step_us_max_; }

 private:
  uint32_t tokens_left_in_chunk() const;
  bool is_within(const StepShape& shape) const;

  const StepEstimator& estimator_;
  const contract::Capacity& capacity_;
  StepShape shape_;
  uint32_t tokens_left_;
  std::optional<base::Micros> step_us_max_;
};

}  // namespace takt::scheduler
