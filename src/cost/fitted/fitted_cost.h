// A step cost whose coefficients were fitted from steps that a machine really took (fit_cost.h), as an object and as a
// small text file.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "cost/fitted/step_features.h"
#include "cost/step_cost.h"

namespace takt::cost {

// Steps that only decode scatter otherwise than steps with prompt tokens: short ones suffer more from a thread that
// loses its core.
enum class StepKind : uint8_t { decode_only, with_prefill };
inline constexpr size_t kStepKindCount = 2;
inline StepKind kind_of(const StepFeatures& features) {
  return features.prefill_tokens == 0 ? StepKind::decode_only : StepKind::with_prefill;
}

// One corner of the piecewise linear cost of rows.
struct CostKnot {
  int64_t tokens = 0;
  double us = 0;
  bool operator==(const CostKnot&) const = default;
};

// step  = rows(tokens) + sampled x sampled_rows + blocks x ceil(sampled_rows / 16) + chunk x chunks
//         + pair x prefill_pairs + position x decode_positions
// host  = host_fixed + host_row x rows that yield a token      (from a step's end to the next one's begin)
// rows() is piecewise linear between the knots, because kernels change their path with the number of rows; behind the
// last knot its last slope goes on. The output matrix meets 16 rows at a time.
struct CostCoefficients {
  std::vector<CostKnot> knots;  // ascending tokens; one at least
  double sampled_us = 0;
  double sampled_block_us = 0;
  double chunk_us = 0;
  double pair_us = 0;
  double position_us = 0;
  double host_fixed_us = 0;
  double host_row_us = 0;
  // [StepKind]: quantiles of measured / predicted time at even levels from 0 to 1; empty: no noise is known.
  std::array<std::vector<double>, kStepKindCount> noise;
  bool operator==(const CostCoefficients&) const = default;
};

// Sampled rows that share one pass over the output matrix; the engine's number.
inline constexpr int64_t kSampledBlockRows = 16;

class FittedCost final : public StepCost {
 public:
  // Precondition: check(coefficients) is ok.
  explicit FittedCost(CostCoefficients coefficients);

  // The typical time: without noise.
  base::Micros predict(const contract::StepPlan& plan) const override;
  base::Micros predict(const StepFeatures& features) const;
  base::Micros predict_host(const contract::StepPlan& plan) const override;

  const CostCoefficients& coefficients() const { return coefficients_; }

 private:
  CostCoefficients coefficients_;
};

// The same with noise: each step's typical time times a draw from the measured scatter of its kind. Draws of neighbouring
// steps are alike, as those of a real machine are. A pure function of (seed, step number), so that a run is its seed.
class NoisyCost final : public StepCost {
 public:
  // `typical` is referred to and must outlive this object.
  NoisyCost(const FittedCost& typical, uint64_t seed) : typical_(typical), seed_(seed) {}
  base::Micros predict(const contract::StepPlan& plan) const override;
  base::Micros predict_host(const contract::StepPlan& plan) const override { return typical_.predict_host(plan); }

 private:
  const FittedCost& typical_;
  uint64_t seed_;
};

// Time of the rows() term alone, microseconds. Precondition: knots is not empty.
double rows_us(const std::vector<CostKnot>& knots, int64_t tokens);

// Errors: invalid_argument, naming the field.
base::Status check(const CostCoefficients& coefficients);

// The text of a cost file: a header, then "name value…" a line; "#" begins a comment.
std::string to_text(const CostCoefficients& coefficients);
// Errors: invalid_file, naming the line.
base::Result<CostCoefficients> parse_cost(std::string_view text);

}  // namespace takt::cost
