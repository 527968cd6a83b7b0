// Strong units: a number that crosses an interface says what it counts.
#pragma once

#include <compare>
#include <cstdint>

namespace takt::base {

// An integer with a tag. Adds and compares with its own kind only; `.count()` leaves the type system on purpose.
template <class Tag, class Rep = int64_t>
class Unit {
 public:
  constexpr Unit() = default;
  constexpr explicit Unit(Rep count) : count_(count) {}
  constexpr Rep count() const { return count_; }
  constexpr auto operator<=>(const Unit&) const = default;
  constexpr Unit operator+(Unit other) const { return Unit(count_ + other.count_); }
  constexpr Unit operator-(Unit other) const { return Unit(count_ - other.count_); }
  constexpr Unit& operator+=(Unit other) {
    count_ += other.count_;
    return *this;
  }
  constexpr Unit& operator-=(Unit other) {
    count_ -= other.count_;
    return *this;
  }

 private:
  Rep count_ = 0;
};

using Tokens = Unit<struct TokensTag>;
using Bytes = Unit<struct BytesTag>;
using Micros = Unit<struct MicrosTag>;  // a duration, or a time since the world began

}  // namespace takt::base
