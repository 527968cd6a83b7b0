#include "kernels/shared/attention_ref.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/half.h"
#include "kernels/isa/vec_portable.h"
#include "kernels/shared/kv_page.h"

namespace takt::kernels {
namespace {

int64_t head_floats(const AttentionShape& shape) { return int64_t{2} * kPageTokens * shape.head_dim; }

const float* key_at(const AttentionShape& shape, int32_t kv_head, const std::byte* const* pages, int64_t position) {
  const auto* page = reinterpret_cast<const float*>(pages[position / kPageTokens]);
  return page + kv_head * head_floats(shape) + position % kPageTokens * shape.head_dim;
}

double score(const AttentionShape& shape, const float* q, const float* key) {
  double sum = 0;
  for (int32_t i = 0; i < shape.head_dim; ++i) sum += static_cast<double>(q[i]) * key[i];
  sum *= shape.scale;
  return shape.softcap > 0 ? shape.softcap * std::tanh(sum / shape.softcap) : sum;
}

// One query head. q, out [head_dim]
void attend(const AttentionShape& shape, int32_t kv_head, const float* q, int64_t position,
            const std::byte* const* pages, float* out) {
  const int64_t begin = shape.window > 0 ? std::max<int64_t>(0, position - shape.window + 1) : 0;
  static thread_local std::vector<double> scores, sums;
  scores.resize(static_cast<size_t>(position - begin + 1));
  for (int64_t p = begin; p <= position; ++p)
    scores[static_cast<size_t>(p - begin)] = score(shape, q, key_at(shape, kv_head, pages, p));
  const double max = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  sums.assign(static_cast<size_t>(shape.head_dim), 0.0);
  for (int64_t p = begin; p <= position; ++p) {
    const double weight = std::exp(scores[static_cast<size_t>(p - begin)] - max);
    const float* value = key_at(shape, kv_head, pages, p) + kPageTokens * shape.head_dim;
    total += weight;
    for (int32_t i = 0; i < shape.head_dim; ++i) sums[static_cast<size_t>(i)] += weight * value[i];
  }
  for (int32_t i = 0; i < shape.head_dim; ++i) out[i] = static_cast<float>(sums[static_cast<size_t>(i)] / total);
}

// What a head vector x [n] is after a stay in a page of `format`.
void store(base::KvFormat format, const float* x, int64_t n, float* out) {
  if (format == base::KvFormat::f32) {
    std::memcpy(out, x, static_cast<size_t>(n) * sizeof(float));
  } else if (has_codes(format)) {
    int8_t codes[kHeadDimMax];
    const float scale = to_codes<Portable>(format, x, n, codes).value;
    for (int64_t i = 0; i < n; ++i)
      out[i] = static_cast<float>(format == base::KvFormat::q4 ? kQ4Table[codes[i]] : codes[i]) * scale;
    rotate_head<Portable>(out, n);
  } else {
    uint16_t halves[kHeadDimMax];
    to_halves<Portable>(format, x, n, halves);
    for (int64_t i = 0; i < n; ++i)
      out[i] = format == base::KvFormat::bf16 ? base::bf16_to_float(halves[i]) : base::half_to_float(halves[i]);
  }
}

}  // namespace

size_t kv_page_bytes_ref(const AttentionShape& shape) {
  return static_cast<size_t>(shape.kv_head_count * head_floats(shape)) * sizeof(float);
}

const char* kv_refusal_ref(const AttentionShape&) { return nullptr; }

void kv_store_ref(const AttentionShape& shape, const float* key, const float* value, int32_t slot, std::byte* page) {
  for (int32_t head = 0; head < shape.kv_head_count; ++head) {
    float* keys = reinterpret_cast<float*>(page) + head * head_floats(shape);
    store(shape.key_format, key + head * shape.head_dim, shape.head_dim, keys + slot * shape.head_dim);
    store(shape.value_format, value + head * shape.head_dim, shape.head_dim,
          keys + (kPageTokens + slot) * shape.head_dim);
  }
}

void attention_decode_ref(const AttentionShape& shape, int32_t kv_head, const float* q, int64_t position,
                          const std::byte* const* pages, float* out, std::byte*) {
  const int32_t group = shape.head_count / shape.kv_head_count;
  for (int32_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
    attend(shape, kv_head, q + head * shape.head_dim, position, pages, out + head * shape.head_dim);
}

void attention_prefill_ref(const AttentionShape& shape, int32_t kv_head, const float* q, int64_t q_stride,
                           int64_t position_begin, int64_t row_count, const std::byte* const* pages, float* out,
                           int64_t out_stride, std::byte* scratch) {
  for (int64_t row = 0; row < row_count; ++row)
    attention_decode_ref(shape, kv_head, q + row * q_stride, position_begin + row, pages, out + row * out_stride,
                         scratch);
}

size_t attention_scratch_bytes_ref(const AttentionShape&) { return 64; }

}  // namespace takt::kernels
