#include "server/openai/sampling_fields.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/string.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <mutex>
#include <random>

namespace takt::server {

namespace json = boost::json;

namespace {

constexpr double kFloatMax = std::numeric_limits<float>::max();

// Below 2^53, so that JavaScript clients read the exact number.
uint64_t random_seed() {
  static std::mutex mutex;
  static std::mt19937_64 generator{(static_cast<uint64_t>(std::random_device{}()) << 32) ^ std::random_device{}()};
  const std::lock_guard lock(mutex);
  return generator() >> 11;
}

// Any whole number: taken modulo 2^64. One beyond 64 bits reaches us as the nearest double, so that its last digits do not count.
// -1 asks for a random seed, as in llama-server.
void read_seed(FieldReader& reader, GenerationRequest& out) {
  const json::value* value = reader.find("seed");
  if (value == nullptr || (value->is_int64() && value->get_int64() == -1)) {
    out.sampling.seed = random_seed();
  } else if (value->is_int64()) {
    out.sampling.seed = static_cast<uint64_t>(value->get_int64());
    out.is_seed_negative = value->get_int64() < 0;
  } else if (value->is_uint64()) {
    out.sampling.seed = value->get_uint64();
  } else if (value->is_double() && std::isfinite(value->get_double()) &&
             std::trunc(value->get_double()) == value->get_double()) {
    const double rest = std::fmod(std::fabs(value->get_double()), 0x1p64);
    out.sampling.seed = static_cast<uint64_t>(rest);
  } else {
    reader.fail("seed", "must be an integer");
  }
}

std::optional<contract::TokenId> token_id(const json::value& value, uint32_t vocabulary_size) {
  const std::optional<int64_t> id = as_integer(value);
  if (!id || *id < 0 || *id >= static_cast<int64_t>(vocabulary_size)) return std::nullopt;
  return static_cast<contract::TokenId>(*id);
}

std::optional<contract::TokenId> token_id(std::string_view digits, uint32_t vocabulary_size) {
  int64_t id = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  if (result.ec != std::errc() || result.ptr != digits.data() + digits.size()) return std::nullopt;
  return token_id(json::value(id), vocabulary_size);
}

// A finite number, or false, which bans the token.
std::optional<float> bias_of(const json::value& value) {
  if (value.is_bool() && !value.get_bool()) return -std::numeric_limits<float>::infinity();
  if (!value.is_number()) return std::nullopt;
  const double bias = value.to_number<double>();
  if (!(std::fabs(bias) <= kFloatMax)) return std::nullopt;
  return static_cast<float>(bias);
}

// {"15043": 1.5, …} as OpenAI has it, or [[15043, 1.5], [15044, false], …] as llama-server has it.
void read_logit_bias(FieldReader& reader, const ApiLimits& limits, uint32_t vocabulary_size, GenerationRequest& out) {
  const json::value* value = reader.find("logit_bias");
  if (value == nullptr) return;
  const auto add = [&](std::optional<contract::TokenId> id, const json::value& bias_value, const std::string& key) {
    const std::optional<float> bias = bias_of(bias_value);
    if (!id) {
      reader.fail("logit_bias", "must have token ids from 0 to " + std::to_string(int64_t{vocabulary_size} - 1) +
                                    " as keys, and has " + key);
    } else if (!bias) {
      reader.fail("logit_bias", "must have numbers (or false) as values");
    } else {
      out.sampling.logit_bias.emplace_back(*id, *bias);
    }
  };
  const size_t size = value->is_object()  ? value->get_object().size()
                      : value->is_array() ? value->get_array().size()
                                          : 0;
  if (size > limits.logit_bias_max) {
    return reader.fail("logit_bias", "may have at most " + std::to_string(limits.logit_bias_max) + " entries");
  }
  if (value->is_object()) {
    for (const auto& entry : value->get_object()) {
      const std::string_view key(entry.key().data(), entry.key().size());
      add(token_id(key, vocabulary_size), entry.value(), '"' + std::string(key.substr(0, 40)) + '"');
    }
  } else if (value->is_array()) {
    for (const json::value& entry : value->get_array()) {
      const json::array* pair = entry.if_array();
      if (pair == nullptr || pair->size() != 2)
        return reader.fail("logit_bias", "must be a list of [token id, bias] pairs");
      add(token_id(pair->at(0), vocabulary_size), pair->at(1), "something else");
    }
  } else {
    reader.fail("logit_bias", "must be an object or a list");
  }
}

}  // namespace

void read_sampling(FieldReader& reader, const ApiLimits& limits, uint32_t vocabulary_size, uint32_t context_tokens,
                   GenerationRequest& out) {
  contract::Sampling& sampling = out.sampling;
  const auto read_float = [&reader](std::string_view name, float& target, double min, double max) {
    if (const auto value = reader.number(name, min, max)) target = static_cast<float>(*value);
  };
  constexpr double kSmallest = std::numeric_limits<float>::min();
  read_float("temperature", sampling.temperature, 0, kFloatMax);
  read_float("top_p", sampling.top_p, 0, 1);
  sampling.top_p = std::max(sampling.top_p, static_cast<float>(kSmallest));  // 0 keeps the best token only
  read_float("min_p", sampling.min_p, 0, 1);
  read_float("repeat_penalty", sampling.repeat_penalty, kSmallest, kFloatMax);
  read_float("frequency_penalty", sampling.frequency_penalty, -2, 2);
  read_float("presence_penalty", sampling.presence_penalty, -2, 2);
  // -1 is how other servers spell "off" for top_k and "the whole context" for repeat_last_n.
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  if (const auto value = reader.integer("top_k", -1, kMax))
    sampling.top_k = *value < 0 ? 0 : static_cast<uint32_t>(*value);
  if (const auto value = reader.integer("repeat_last_n", -1, kMax)) {
    sampling.repeat_last_n = *value < 0 ? context_tokens : static_cast<uint32_t>(*value);
  }
  read_seed(reader, out);
  read_logit_bias(reader, limits, vocabulary_size, out);
}

}  // namespace takt::server
