#include "worlds/sim/random.h"

#include <numbers>

namespace takt::worlds {

// Box and Muller; the second value is thrown away to keep the generator free of hidden state.
double Random::normal() {
  const double radius = std::sqrt(2 * exponential());
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

// Marsaglia and Tsang, A simple method for generating gamma variables, 2000; shapes below 1 by their section 6.
double Random::gamma(double shape) {
  if (shape < 1) return gamma(shape + 1) * (shape + 1) * std::pow(uniform(), 1 / shape) / shape;
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal();
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v / shape;
  }
}

}  // namespace takt::worlds
