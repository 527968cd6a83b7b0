#include "contract/time_parts.h"

#include <algorithm>
#include <cassert>

namespace takt::contract {

std::string_view name(TimePart part) {
  static constexpr std::array<std::string_view, kTimePartCount> kNames{
      "own_compute", "other_decode", "other_prefill", "queue", "kv_wait", "preemption",
      "recompute",   "load",         "sampling",      "host",  "network"};
  return kNames[static_cast<size_t>(part)];
}

base::Micros TimeParts::total() const {
  base::Micros sum;
  for (const base::Micros part : micros) sum += part;
  return sum;
}

void TimeParts::add(const TimeParts& other) {
  for (size_t i = 0; i < kTimePartCount; ++i) micros[i] += other.micros[i];
  for (const Cause& cause : other.causes) add_cause(cause.request, cause.micros, cause.tokens);
}

void TimeParts::add_cause(RequestId request, base::Micros added, uint32_t tokens) {
  const auto found =
      std::find_if(causes.begin(), causes.end(), [request](const Cause& cause) { return cause.request == request; });
  if (found == causes.end()) {
    causes.push_back({request, added, tokens});
  } else {
    found->micros += added;
    found->tokens += tokens;
  }
}

void TimeParts::take_from_front(base::Micros taken) {
  assert(taken.count() >= 0 && taken <= total());
  const base::Micros from_host = std::min(taken, (*this)[TimePart::host]);
  (*this)[TimePart::host] -= from_host;
  taken -= from_host;
  if (taken.count() == 0) return;
  std::vector<int64_t> weights;
  for (const base::Micros part : micros) weights.push_back(part.count());
  const std::vector<int64_t> kept = divide_exactly((total() - taken).count(), weights);
  for (size_t i = 0; i < kTimePartCount; ++i) micros[i] = base::Micros(kept[i]);
  if (causes.empty()) return;
  weights.clear();
  for (const Cause& cause : causes) weights.push_back(cause.micros.count());
  const std::vector<int64_t> shares = divide_exactly((*this)[TimePart::other_prefill].count(), weights);
  for (size_t i = 0; i < causes.size(); ++i) causes[i].micros = base::Micros(shares[i]);
}

std::vector<int64_t> divide_exactly(int64_t total, const std::vector<int64_t>& weights) {
  assert(!weights.empty());
  __int128 sum = 0;  // products of two times in microseconds may pass 64 bits
  for (const int64_t weight : weights) sum += weight;
  std::vector<int64_t> shares(weights.size());
  const auto greatest = static_cast<size_t>(std::max_element(weights.begin(), weights.end()) - weights.begin());
  int64_t rest = total;
  for (size_t i = 0; i < weights.size() && sum > 0; ++i) {
    shares[i] = static_cast<int64_t>(static_cast<__int128>(total) * weights[i] / sum);
    rest -= shares[i];
  }
  shares[sum > 0 ? greatest : 0] += rest;
  return shares;
}

}  // namespace takt::contract
