// The highest rate at which a server keeps its limits.
#pragma once

#include <functional>
#include <optional>

namespace takt::apps {

struct RateSearch {
  double begin = 0.5;              // requests/s that are tried first
  double precision = 0.1;          // stops when the bracket is narrower than this share of its lower end
  double lowest_share = 1.0 / 32;  // of `begin`: at lower rates a run of the same requests lasts too long to try
  int tries_max = 12;
};

// Doubles or halves from `begin` until the answer changes, then halves the bracket. `keeps` runs the load at a rate and says whether the limits
// were kept. Absent: not even the lowest rate that was tried kept them. Supposes that what a rate keeps, lower ones keep as well.
std::optional<double> find_rate(const RateSearch& search, const std::function<bool(double)>& keeps);

}  // namespace takt::apps
