#include "load/rate_search.h"

namespace takt::apps {

std::optional<double> find_rate(const RateSearch& search, const std::function<bool(double)>& keeps) {
  std::optional<double> kept, broken;
  double rate = search.begin;
  for (int tries = 0; tries < search.tries_max; ++tries) {
    (keeps(rate) ? kept : broken) = rate;
    if (kept && broken && *broken - *kept <= search.precision * *kept) break;
    rate = !broken ? 2 * *kept : !kept ? *broken / 2 : (*kept + *broken) / 2;
    if (rate < search.begin * search.lowest_share) break;
  }
  return kept;
}

}  // namespace takt::apps
