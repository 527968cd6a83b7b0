// Finds the coefficients of a FittedCost from steps that a machine really took: least squares of relative errors, in
// which far outliers count little.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "cost/fitted/fitted_cost.h"
#include "cost/fitted/step_features.h"

namespace takt::cost {

struct StepSample {
  StepFeatures features;
  base::Micros duration;
  std::optional<base::Micros> host;  // to the next step's begin; nothing where the loop slept between
};

// How far predictions are from measurements.
struct FitError {
  uint64_t count = 0;
  double mean_us = 0, p50_us = 0, p99_us = 0;  // absolute
  double mean = 0, p50 = 0, p99 = 0;           // relative to the measured time
  double total = 0;                            // predicted / measured time of all steps together
};

struct CostFit {
  CostCoefficients coefficients;
  std::array<FitError, kStepKindCount> errors;  // [StepKind], on the samples fitted
};

// Errors: invalid_argument when there are fewer than kFitSamplesMin samples.
inline constexpr size_t kFitSamplesMin = 20;
base::Result<CostFit> fit_cost(const std::vector<StepSample>& samples);

// Of other samples than those fitted, for example.
std::array<FitError, kStepKindCount> measure_errors(const FittedCost& cost, const std::vector<StepSample>& samples);

// A table for people.
std::string to_table(const std::array<FitError, kStepKindCount>& errors);

}  // namespace takt::cost
