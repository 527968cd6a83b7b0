// Weighted linear least squares by the normal equations: few unknowns, many equations that need not be kept.
#pragma once

#include <cstddef>
#include <vector>

namespace takt::cost {

class LeastSquares {
 public:
  explicit LeastSquares(size_t unknowns) : count_(unknowns), matrix_(unknowns * unknowns, 0), right_(unknowns, 0) {}

  // weight x (row . x - value)^2 joins the sum to be least. Precondition: row has a number for each unknown.
  void add(const std::vector<double>& row, double value, double weight);
  // By Cholesky's method, after scaling each unknown to unit diagonal; unknowns that no equation determines come out as
  // zero.
  std::vector<double> solve() const;

 private:
  size_t count_;
  std::vector<double> matrix_;  // [unknowns, unknowns], the lower triangle
  std::vector<double> right_;   // [unknowns]
};

}  // namespace takt::cost
