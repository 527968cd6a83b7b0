// The simulated world's own random numbers: a seed gives the same integers everywhere, and the same run on one machine
// (the logarithms below may differ in the last bit between C libraries).
#pragma once

#include <cmath>
#include <cstdint>

namespace takt::worlds {

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // In [0, bound). Precondition: bound > 0. The bias of the remainder is below 2^-32 for the bounds in use.
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(next() % bound); }
  // In [low, high]. Precondition: low <= high, and the range has fewer than 2^32 values.
  uint32_t between(uint32_t low, uint32_t high) { return low + below(high - low + 1); }
  bool one_in(uint32_t count) { return below(count) == 0; }
  // In (0, 1): never 0, so that its logarithm exists.
  double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }

  double exponential() { return -std::log(uniform()); }  // mean 1
  double normal();                                       // mean 0, deviation 1
  double gamma(double shape);                            // mean 1. Precondition: shape > 0
  // Mean `mean`; `sigma` is the deviation of the logarithm (0: always the mean).
  double log_normal(double mean, double sigma) { return mean * std::exp(sigma * normal() - sigma * sigma / 2); }

 private:
  uint64_t state_;
};

}  // namespace takt::worlds
