#include "cost/fitted/least_squares.h"

#include <cassert>
#include <cmath>

namespace takt::cost {

void LeastSquares::add(const std::vector<double>& row, double value, double weight) {
  assert(row.size() == count_);
  for (size_t i = 0; i < count_; ++i) {
    if (row[i] == 0) continue;
    const double weighted = weight * row[i];
    for (size_t k = 0; k <= i; ++k) matrix_[i * count_ + k] += weighted * row[k];
    right_[i] += weighted * value;
  }
}

std::vector<double> LeastSquares::solve() const {
  std::vector<double> scale(count_), lower(count_ * count_, 0), solution(count_);
  for (size_t i = 0; i < count_; ++i) {
    const double diagonal = matrix_[i * count_ + i];
    scale[i] = diagonal > 0 ? 1 / std::sqrt(diagonal) : 0;
  }
  for (size_t i = 0; i < count_; ++i) {
    for (size_t k = 0; k <= i; ++k) {
      double sum = matrix_[i * count_ + k] * scale[i] * scale[k];
      if (i == k && scale[i] == 0) sum = 1;  // not in any equation
      for (size_t j = 0; j < k; ++j) sum -= lower[i * count_ + j] * lower[k * count_ + j];
      // After scaling the diagonal begins at 1: what is left below 1e-12 of it is rounding.
      lower[i * count_ + k] = i == k ? std::sqrt(std::fmax(sum, 1e-12)) : sum / lower[k * count_ + k];
    }
  }
  for (size_t i = 0; i < count_; ++i) {
    double sum = right_[i] * scale[i];
    for (size_t k = 0; k < i; ++k) sum -= lower[i * count_ + k] * solution[k];
    solution[i] = sum / lower[i * count_ + i];
  }
  for (size_t i = count_; i-- > 0;) {
    double sum = solution[i];
    for (size_t k = i + 1; k < count_; ++k) sum -= lower[k * count_ + i] * solution[k];
    solution[i] = sum / lower[i * count_ + i];
  }
  for (size_t i = 0; i < count_; ++i) solution[i] *= scale[i];
  return solution;
}

}  // namespace takt::cost
