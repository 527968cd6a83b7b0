// The instruction sets that the canonical kernels are instantiated for. Each name is a policy: a struct of types and
// operations over one vector (isa/vec_<name>.h), complete only in the files compiled for it.
//
// Per-file flags leak: any function with external linkage that such a file emits may be picked by the linker for the whole
// program. So every template takes the policy as a parameter (its symbols are its own), every small function is
// TAKT_INLINE, and those files use nothing of the standard library that has a body.
#pragma once

#include <cstdint>

#define TAKT_INLINE inline __attribute__((always_inline))
// For generic lambdas: [&](auto i) TAKT_INLINE_LAMBDA { … }
#define TAKT_INLINE_LAMBDA __attribute__((always_inline))

namespace takt::kernels {

struct Avx512;
struct Avx2;
struct Portable;

// Sums of the lanes 0, 1 and of the lanes 2, 3 of each four lanes.
struct PairSums {
  int32_t first, second;
};

template <int I>
struct Index {
  static constexpr int value = I;
};

// Calls f(Index<0>{}) … f(Index<N - 1>{}): unrolled before the optimiser sees it, so that arrays indexed by it are registers.
template <int N, int I = 0, class Function>
TAKT_INLINE void unroll(const Function& f) {
  if constexpr (I < N) {
    f(Index<I>{});
    unroll<N, I + 1>(f);
  }
}

// Calls f(Index<count>{}). 1 <= count <= kMax
template <int kMax, class Function>
TAKT_INLINE void dispatch_count(int64_t count, const Function& f) {
  if constexpr (kMax > 1) {
    if (count < kMax) return dispatch_count<kMax - 1>(count, f);
  }
  f(Index<kMax>{});
}

}  // namespace takt::kernels
