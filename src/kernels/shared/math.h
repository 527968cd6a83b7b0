// Elementary functions as fixed sequences of correctly rounded operations, so that every set gives the same bits.
#pragma once

#include "kernels/isa/targets.h"

namespace takt::kernels {

// e^x within 0.9 ulp. exp(-inf) = 0, overflow gives infinity, NaN stays NaN; results below 2^-126 are rounded once.
// Cody-Waite reduction x = n ln 2 + r, |r| <= 0.3466, and the degree-6 polynomial of e^r (minimax on that interval, coefficient
// of 1 and r fixed at 1); n enters the exponent in two halves, since 2^n alone need not be a float32.
template <class Isa>
TAKT_INLINE typename Isa::F exp(typename Isa::F x) {
  using F = typename Isa::F;
  // Beyond these bounds the result is 0 or infinity; max and min return their second operand where it is NaN.
  x = Isa::min(Isa::set_f(89.0f), Isa::max(Isa::set_f(-110.0f), x));
  const F shift = Isa::set_f(0x1.8p23f);  // spacing 1: adding it rounds to an integer, which then lies in the low bits
  const F shifted = Isa::fma(x, Isa::set_f(0x1.715476p+0f), shift);
  const F n = Isa::sub(shifted, shift);
  F r = Isa::fma(n, Isa::set_f(-0x1.62e4p-1f), x);   // n × (upper bits of ln 2) is exact
  r = Isa::fma(n, Isa::set_f(-0x1.7f7d1cp-20f), r);  // ln 2 - 0x1.62e4p-1
  F p = Isa::set_f(0x1.6a23d0p-10f);
  p = Isa::fma(p, r, Isa::set_f(0x1.123a20p-7f));
  p = Isa::fma(p, r, Isa::set_f(0x1.5558f2p-5f));
  p = Isa::fma(p, r, Isa::set_f(0x1.555492p-3f));
  p = Isa::fma(p, r, Isa::set_f(0x1.fffffcp-2f));
  p = Isa::fma(p, r, Isa::set_f(1.0f));
  p = Isa::fma(p, r, Isa::set_f(1.0f));
  const auto exponent = Isa::sub_i(Isa::bits_i(shifted), Isa::bits_i(shift));
  const auto half = Isa::template sra_i<1>(exponent);
  const auto bias = Isa::set_i(127);
  const F power_1 = Isa::bits_f(Isa::template shl_i<23>(Isa::add_i(half, bias)));
  const F power_2 = Isa::bits_f(Isa::template shl_i<23>(Isa::add_i(Isa::sub_i(exponent, half), bias)));
  return Isa::mul(Isa::mul(p, power_1), power_2);
}

// 1 / (1 + e^-x) multiplied with y. For x = -inf … the quotient is 0, never NaN.
template <class Isa>
TAKT_INLINE typename Isa::F times_sigmoid(typename Isa::F y, typename Isa::F x) {
  const auto e = exp<Isa>(Isa::sub(Isa::set_f(0.0f), x));
  return Isa::div(y, Isa::add(Isa::set_f(1.0f), e));
}

// Within 2e-7 absolute: 1 - 2 / (e^2x + 1).
template <class Isa>
TAKT_INLINE typename Isa::F tanh(typename Isa::F x) {
  const auto one = Isa::set_f(1.0f);
  const auto e = exp<Isa>(Isa::add(x, x));
  return Isa::sub(one, Isa::div(Isa::set_f(2.0f), Isa::add(e, one)));
}

}  // namespace takt::kernels
