// What a step computes and reads, counted from the model: what a measured time is turned into shares of a ceiling with.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "bench/roofline.h"
#include "engine/step_observer.h"
#include "model/model.h"

namespace takt::apps {

// Operations: a multiplication and an addition count two.
struct Work {
  double int8_operations = 0;   // products of quantised weights
  double float_operations = 0;  // products of float weights, and attention
  double bytes = 0;             // weights as packed, keys and values as stored; activations in the other operations
  Work& operator+=(const Work& other);
};

// By engine::Operation.
struct StepWork {
  std::array<Work, engine::kOperationCount> operations;
  Work& at(engine::Operation operation) { return operations[static_cast<size_t>(operation)]; }
  const Work& at(engine::Operation operation) const { return operations[static_cast<size_t>(operation)]; }
  StepWork& operator+=(const StepWork& other);
  // Of the linear layers (output matrix included) and attention.
  Work products() const;
};

// Consecutive rows of one sequence, at positions [begin, end).
struct RowRange {
  int64_t begin = 0, end = 0;
};

// One step. wanted_count: rows whose logits are computed.
StepWork work_of_step(const model::Model& model, std::span<const RowRange> ranges, int64_t wanted_count);
// A prompt's positions [begin, end) in steps of `chunk` tokens, with the logits of the last one.
StepWork work_of_prefill(const model::Model& model, int64_t begin, int64_t end, int64_t chunk);
// `count` steps of one row each, from `position` on.
StepWork work_of_decode(const model::Model& model, int64_t position, int64_t count);

// Model FLOP utilisation, in percent: the products' operations of `work` in `seconds`, of what the int8 instructions could do in that
// time (the float instructions, for a file without quantised matrices). 0: ceiling unknown.
double mfu_percent(const StepWork& work, double seconds, const Ceilings& ceilings);
// Model bandwidth utilisation, in percent: the weights, keys and values read, of what memory could have delivered.
double mbu_percent(const StepWork& work, double seconds, const Ceilings& ceilings);

}  // namespace takt::apps
