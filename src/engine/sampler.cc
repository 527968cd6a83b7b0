#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace takt::engine {
namespace {

constexpr float kBanned = -std::numeric_limits<float>::infinity();

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Higher logit first; ties go to the lower id.
template <class Candidate>
bool before(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

}  // namespace

bool are_sound(std::span<const float> logits) {
  int unsound_count = 0;
  for (float logit : logits)
    unsound_count += !(logit < std::numeric_limits<float>::infinity());  // also true for a not-a-number
  return unsound_count == 0;
}

double uniform_draw(uint64_t seed, uint32_t choice_index, uint64_t position) {
  const uint64_t bits = mix(mix(mix(seed) ^ choice_index) ^ position);
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

void Sampler::apply_penalties(const contract::Sampling& sampling, std::span<const contract::TokenId> history,
                              std::span<float> logits) {
  const bool has_penalty =
      sampling.repeat_penalty != 1.0f || sampling.frequency_penalty != 0.0f || sampling.presence_penalty != 0.0f;
  if (!has_penalty || sampling.repeat_last_n == 0) return;
  const size_t count = std::min<size_t>(history.size(), sampling.repeat_last_n);
  window_.assign(history.end() - static_cast<ptrdiff_t>(count), history.end());
  std::sort(window_.begin(), window_.end());
  for (size_t i = 0; i < window_.size();) {
    size_t end = i;
    while (end < window_.size() && window_[end] == window_[i]) ++end;
    float& logit = logits[static_cast<size_t>(window_[i])];
    logit = logit > 0 ? logit / sampling.repeat_penalty : logit * sampling.repeat_penalty;
    logit -= static_cast<float>(end - i) * sampling.frequency_penalty + sampling.presence_penalty;
    i = end;
  }
}

Sampled Sampler::greedy(std::span<const float> logits) const {
  size_t best = 0;
  for (size_t i = 1; i < logits.size(); ++i)
    if (logits[i] > logits[best]) best = i;
  return {static_cast<contract::TokenId>(best), logits[best] != kBanned};
}

void Sampler::select_top_k(std::span<const float> logits, uint32_t top_k) {
  // A heap whose root is the worst of the best k: nearly every logit costs one comparison.
  candidates_.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    const Candidate candidate{logits[i], static_cast<contract::TokenId>(i)};
    if (candidates_.size() < top_k) {
      candidates_.push_back(candidate);
      std::push_heap(candidates_.begin(), candidates_.end(), before<Candidate>);
    } else if (candidate.logit > candidates_.front().logit) {  // equal logits: the lower id is already in
      std::pop_heap(candidates_.begin(), candidates_.end(), before<Candidate>);
      candidates_.back() = candidate;
      std::push_heap(candidates_.begin(), candidates_.end(), before<Candidate>);
    }
  }
  std::sort_heap(candidates_.begin(), candidates_.end(), before<Candidate>);
}

void Sampler::select_within(std::span<const float> logits, float threshold) {
  candidates_.clear();
  for (size_t i = 0; i < logits.size(); ++i)
    if (logits[i] >= threshold && logits[i] != kBanned)
      candidates_.push_back({logits[i], static_cast<contract::TokenId>(i)});
  std::sort(candidates_.begin(), candidates_.end(), before<Candidate>);
}

// top_k, top_p, min_p and temperature, then the draw. top_p and min_p each keep a prefix of the candidates in order of
// probability, so that both together keep the shorter one.
Sampled Sampler::draw(const contract::Sampling& sampling, std::span<const float> logits, double uniform) {
  const float best = *std::max_element(logits.begin(), logits.end());
  if (best == kBanned) return {};
  const float min_p_threshold = sampling.min_p > 0 ? best + std::log(sampling.min_p) : kBanned;
  double mass = 0;  // of everything top_k left, in units of the best token's probability
  if (sampling.top_k > 0 && sampling.top_k < logits.size()) {
    select_top_k(logits, sampling.top_k);
    for (const Candidate& candidate : candidates_) mass += std::exp(static_cast<double>(candidate.logit - best));
  } else {
    if (sampling.top_p < 1)
      for (float logit : logits) mass += std::exp(static_cast<double>(logit - best));
    select_within(logits, min_p_threshold);
  }
  size_t kept = 0;
  double kept_mass = 0;
  while (kept < candidates_.size()) {
    const Candidate& candidate = candidates_[kept];
    if (kept > 0 && (candidate.logit < min_p_threshold || candidate.logit == kBanned)) break;
    if (kept > 0 && sampling.top_p < 1 && kept_mass >= static_cast<double>(sampling.top_p) * mass) break;
    kept_mass += std::exp(static_cast<double>(candidate.logit - best));
    ++kept;
  }
  double total = 0;
  for (size_t i = 0; i < kept; ++i)
    total += std::exp(static_cast<double>((candidates_[i].logit - best) / sampling.temperature));
  double rest = uniform * total;
  for (size_t i = 0; i + 1 < kept; ++i) {
    rest -= std::exp(static_cast<double>((candidates_[i].logit - best) / sampling.temperature));
    if (rest < 0) return {candidates_[i].id, true};
  }
  return {candidates_[kept - 1].id, true};
}

Sampled Sampler::sample(const contract::Sampling& sampling, std::span<const contract::TokenId> history,
                        uint64_t position, std::span<float> logits, std::span<const uint64_t> allowed) {
  for (const auto& [token, bias] : sampling.logit_bias) {
    float& logit = logits[static_cast<size_t>(token)];
    logit =
        std::min(logit + bias, std::numeric_limits<float>::max());  // several large biases must not add up to infinity
  }
  apply_penalties(sampling, history, logits);
  if (!allowed.empty())
    for (size_t i = 0; i < logits.size(); ++i)
      if ((allowed[i / 64] >> (i % 64) & 1) == 0) logits[i] = kBanned;
  if (sampling.temperature <= 0) return greedy(logits);
  return draw(sampling, logits, uniform_draw(sampling.seed, sampling.choice_index, position));
}

contract::TokenOutput log_probabilities(std::span<const float> logits, contract::TokenId token, uint32_t count) {
  const float best = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float logit : logits) sum += std::exp(static_cast<double>(logit) - best);
  const double log_sum = best + std::log(sum);
  contract::TokenOutput output;
  output.id = token;
  if (token >= 0) output.logprob = static_cast<float>(logits[static_cast<size_t>(token)] - log_sum);
  std::vector<contract::TokenLogprob> top;
  const auto by_rank = [](const contract::TokenLogprob& a, const contract::TokenLogprob& b) {
    return a.logprob != b.logprob ? a.logprob > b.logprob : a.id < b.id;
  };
  const size_t kept = std::min<size_t>(count, logits.size());
  // `logprob` holds the logit until the selection is done.
  for (size_t i = 0; i < logits.size() && kept > 0; ++i) {
    if (top.size() == kept && !(logits[i] > top.front().logprob)) continue;
    if (top.size() == kept) {
      std::pop_heap(top.begin(), top.end(), by_rank);
      top.pop_back();
    }
    top.push_back({static_cast<contract::TokenId>(i), logits[i]});
    std::push_heap(top.begin(), top.end(), by_rank);
  }
  std::sort_heap(top.begin(), top.end(), by_rank);
  for (auto& entry : top) entry.logprob = static_cast<float>(entry.logprob - log_sum);
  output.top = std::move(top);
  return output;
}

}  // namespace takt::engine
