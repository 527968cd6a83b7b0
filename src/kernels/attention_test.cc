// Attention in every KV format: every set against "portable" and prefill against decode bit for bit, all against "ref" within the error
// of the format.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/shared/test_matrices.h"

namespace takt::kernels {
namespace {

using namespace testing;

const KernelSet& portable() { return *select_kernel_set("portable"); }
const KernelSet& ref() { return *select_kernel_set("ref"); }

// A layer's keys, values and queries of positions 0 … count - 1.
struct Layer {
  AttentionShape shape;
  int64_t count;
  std::vector<float> keys, values, queries;
};

Layer random_layer(Random& random, AttentionShape shape, int64_t count) {
  const int64_t kv_row = int64_t{shape.kv_head_count} * shape.head_dim,
                q_row = int64_t{shape.head_count} * shape.head_dim;
  return {shape, count, random_floats(random, count * kv_row, 1.0f), random_floats(random, count * kv_row, 1.0f),
          random_floats(random, count * q_row, 1.0f)};
}

// Pages whose unused slots hold NaN, as a page that another request left may.
struct Pages {
  AlignedBytes bytes;
  std::vector<const std::byte*> pointers;
};

Pages store(const KernelSet& set, const Layer& layer, int64_t stored_count) {
  const size_t page_bytes = set.kv_page_bytes(layer.shape);
  const int64_t page_count = (layer.count + kPageTokens - 1) / kPageTokens;
  Pages out{AlignedBytes(page_bytes * static_cast<size_t>(page_count)), {}};
  const int64_t row = int64_t{layer.shape.kv_head_count} * layer.shape.head_dim;
  const std::vector<float> stale(static_cast<size_t>(row), std::numeric_limits<float>::quiet_NaN());
  for (int64_t page = 0; page < page_count; ++page) {
    std::byte* bytes = out.bytes.data() + static_cast<size_t>(page) * page_bytes;
    for (int32_t slot = 0; slot < kPageTokens; ++slot) {
      const int64_t position = page * kPageTokens + slot;
      const bool is_stored = position < stored_count;
      set.kv_store(layer.shape, is_stored ? &layer.keys[static_cast<size_t>(position * row)] : stale.data(),
                   is_stored ? &layer.values[static_cast<size_t>(position * row)] : stale.data(), slot, bytes);
    }
    out.pointers.push_back(bytes);
  }
  return out;
}

// out [count, head_count × head_dim], for positions [begin, layer.count)
std::vector<float> decode_all(const KernelSet& set, const Layer& layer, int64_t begin) {
  const int64_t row = int64_t{layer.shape.head_count} * layer.shape.head_dim;
  std::vector<float> out(static_cast<size_t>((layer.count - begin) * row), -1.0f);
  const AlignedBytes scratch(set.attention_scratch_bytes(layer.shape));
  Pages pages = store(set, layer, begin);
  const size_t page_bytes = set.kv_page_bytes(layer.shape);
  const int64_t kv_row = int64_t{layer.shape.kv_head_count} * layer.shape.head_dim;
  for (int64_t position = begin; position < layer.count; ++position) {
    set.kv_store(layer.shape, &layer.keys[static_cast<size_t>(position * kv_row)],
                 &layer.values[static_cast<size_t>(position * kv_row)], static_cast<int32_t>(position % kPageTokens),
                 pages.bytes.data() + static_cast<size_t>(position / kPageTokens) * page_bytes);
    // Pages wholly before the window are not read.
    std::vector<const std::byte*> visible = pages.pointers;
    if (layer.shape.window > 0)
      for (int64_t page = 0; (page + 1) * kPageTokens <= position - layer.shape.window + 1; ++page)
        visible[static_cast<size_t>(page)] = nullptr;
    for (int32_t head = 0; head < layer.shape.kv_head_count; ++head)
      set.attention_decode(layer.shape, head, &layer.queries[static_cast<size_t>(position * row)], position,
                           visible.data(), &out[static_cast<size_t>((position - begin) * row)], scratch.data());
  }
  return out;
}

std::vector<float> prefill_all(const KernelSet& set, const Layer& layer, int64_t begin, int64_t chunk) {
  const int64_t row = int64_t{layer.shape.head_count} * layer.shape.head_dim;
  std::vector<float> out(static_cast<size_t>((layer.count - begin) * row), -1.0f);
  const AlignedBytes scratch(set.attention_scratch_bytes(layer.shape));
  for (int64_t first = begin; first < layer.count; first += chunk) {
    const int64_t rows = std::min(chunk, layer.count - first);
    const Pages pages = store(set, layer, first + rows);
    for (int32_t head = 0; head < layer.shape.kv_head_count; ++head)
      set.attention_prefill(layer.shape, head, &layer.queries[static_cast<size_t>(first * row)], row, first, rows,
                            pages.pointers.data(), &out[static_cast<size_t>((first - begin) * row)], row,
                            scratch.data());
  }
  return out;
}

// The last position in parts of spans, merged.
std::vector<float> decode_last_in_spans(const KernelSet& set, const Layer& layer, int64_t part) {
  const int64_t row = int64_t{layer.shape.head_count} * layer.shape.head_dim, position = layer.count - 1;
  const int64_t span = int64_t{kSpanTiles} * kPageTokens, state = span_state_floats(layer.shape);
  const int64_t first = layer.shape.window > 0 ? std::max<int64_t>(0, position - layer.shape.window + 1) / span : 0;
  const int64_t last = position / span;
  const AlignedBytes scratch(set.attention_scratch_bytes(layer.shape));
  const Pages pages = store(set, layer, layer.count);
  std::vector<float> out(static_cast<size_t>(row), -1.0f), states(static_cast<size_t>((last - first + 1) * state));
  for (int32_t head = 0; head < layer.shape.kv_head_count; ++head) {
    for (int64_t begin = first; begin <= last; begin += part)
      set.attention_decode_spans(layer.shape, head, &layer.queries[static_cast<size_t>(position * row)], position,
                                 pages.pointers.data(), begin, std::min(begin + part, last + 1),
                                 &states[static_cast<size_t>((begin - first) * state)], scratch.data());
    set.attention_merge_spans(layer.shape, head, states.data(), last - first + 1, out.data());
  }
  return out;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::string describe(const KernelSet& set, const Layer& layer) {
  const AttentionShape& s = layer.shape;
  return std::string(set.name) + " heads " + std::to_string(s.head_count) + "/" + std::to_string(s.kv_head_count) +
         " dim " + std::to_string(s.head_dim) + " kv " + base::kv_formats_name({s.key_format, s.value_format}) +
         " window " + std::to_string(s.window) + " count " + std::to_string(layer.count);
}

std::vector<AttentionShape> shapes() {
  std::vector<AttentionShape> out;
  const int32_t heads[][2] = {{9, 3}, {14, 2}, {4, 1}, {3, 3}, {12, 2}};
  int i = 0;
  for (int32_t dim : {16, 64, 80, 96, 128, 256})
    for (int32_t window : {0, 1, 20, 32, 70})
      out.push_back({heads[i % 5][0], heads[i % 5][1], dim, 1.0f / std::sqrt(static_cast<float>(dim)),
                     ++i % 3 == 0 ? 20.0f : 0.0f, window});
  return out;
}

// What each shape is tested with: f16, and two others in turn, so that keys and values meet in every pair.
std::vector<AttentionShape> shapes_in_formats() {
  using base::KvFormat;
  std::vector<base::KvFormats> pairs;
  for (KvFormat keys : {KvFormat::q8_0, KvFormat::f16, KvFormat::bf16})
    for (KvFormat values : {KvFormat::q4, KvFormat::q8_0, KvFormat::bf16, KvFormat::f16})
      pairs.push_back({keys, values});
  std::vector<AttentionShape> out;
  size_t next = 0;
  for (AttentionShape shape : shapes()) {
    out.push_back(shape);
    for (int i = 0; i < 2; ++i) {
      const base::KvFormats kv = pairs[next++ % pairs.size()];
      shape.key_format = kv.keys;
      shape.value_format = kv.values;
      if (portable().kv_refusal(shape) == nullptr) out.push_back(shape);
    }
  }
  return out;
}

TEST(Attention, SetsAndPhasesAgreeBitForBit) {
  Random random(21);
  for (const AttentionShape& shape : shapes_in_formats()) {
    const int64_t count = 1 + random() % 150, begin = random() % 3 == 0 ? 0 : random() % static_cast<uint32_t>(count);
    const Layer layer = random_layer(random, shape, count);
    const std::vector<float> expected = decode_all(portable(), layer, begin);
    for (float value : expected)
      ASSERT_TRUE(std::isfinite(value)) << "a stale slot shows: " << describe(portable(), layer);
    for (const KernelSet* set : kernel_sets()) {
      if (set->name == "ref" || !set->is_supported()) continue;
      EXPECT_TRUE(same_bits(expected, decode_all(*set, layer, begin))) << "decode " << describe(*set, layer);
      for (int64_t chunk : {int64_t{1}, static_cast<int64_t>(1 + random() % 20), int64_t{set->attention_rows_max}})
        EXPECT_TRUE(same_bits(expected, prefill_all(*set, layer, begin, chunk)))
            << "prefill " << chunk << describe(*set, layer);
    }
    if (HasFailure()) return;
  }
}

// Rows that see several spans: windows that begin inside one, blocks of rows across a boundary, and rows in parts.
TEST(Attention, SpansAgreeBitForBit) {
  Random random(27);
  using base::KvFormat;
  for (int32_t window : {0, 300, 700}) {
    for (base::KvFormats kv : {base::KvFormats{}, base::KvFormats{KvFormat::q8_0, KvFormat::q4}}) {
      const Layer layer =
          random_layer(random, AttentionShape{4, 2, 32, 0.2f, 0, window, kv.keys, kv.values}, 1024 + random() % 50);
      for (int64_t begin : {layer.count - 1, int64_t{1000}}) {
        const std::vector<float> expected = prefill_all(portable(), layer, begin, 64);
        for (const KernelSet* set : kernel_sets()) {
          if (set->name == "ref" || !set->is_supported()) continue;
          if (begin == layer.count - 1) {
            EXPECT_TRUE(same_bits(expected, decode_all(*set, layer, begin))) << describe(*set, layer);
            for (int64_t part : {1, 2, 3})
              EXPECT_TRUE(same_bits(expected, decode_last_in_spans(*set, layer, part))) << describe(*set, layer);
          } else if (set->name != "portable") {
            EXPECT_TRUE(same_bits(expected, decode_all(*set, layer, begin))) << describe(*set, layer);
            EXPECT_TRUE(same_bits(expected, prefill_all(*set, layer, begin, 37))) << describe(*set, layer);
          }
        }
      }
    }
  }
}

// Keys and values have deviation 1 and magnitudes up to 4, scores deviation 1. f16 rounds by 2^-11 and bf16 by 2^-8 relative, q8_0 by up to
// 4 / 254, q4 by up to half its widest step, 0.5 × 31 / 127 × 4. Scores move by some of that (a sum over the head, divided by its root),
// outputs by as much again, and by all of it where only one key is seen.
double tolerance(base::KvFormat format) {
  switch (format) {
    case base::KvFormat::f32: return 1e-5;
    case base::KvFormat::f16: return 2.5e-3;
    case base::KvFormat::bf16: return 2e-2;
    case base::KvFormat::q8_0: return 4.0 / 254 * 4;
    case base::KvFormat::q4: return 0.5 * 31 / 127 * 4 * 1.2;
  }
  return 0;
}

TEST(Attention, IsNearTheReference) {
  Random random(22);
  for (const AttentionShape& shape : shapes_in_formats()) {
    const Layer layer = random_layer(random, shape, 75);
    Layer exact = layer;
    exact.shape.key_format = exact.shape.value_format = base::KvFormat::f32;
    const auto expected = decode_all(ref(), exact, 60), got = decode_all(portable(), layer, 60);
    const double bound = tolerance(shape.key_format) * 2 + tolerance(shape.value_format);
    double worst = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], expected[i], bound) << describe(portable(), layer);
      worst = std::max(worst, static_cast<double>(std::fabs(got[i] - expected[i])));
    }
    EXPECT_GT(worst, 1e-6) << "storage costs something: " << describe(portable(), layer);
    EXPECT_TRUE(same_bits(decode_all(ref(), layer, 60), prefill_all(ref(), layer, 60, 7)));
  }
}

// "ref" keeps the same codes and computes with them in double precision. What is left is float32's rounding, and where there are codes that of
// queries and probabilities to 15 bits: a query's error, uniform in a step of 4.5 / 16383, moves a score by a deviation of
// 4.5 / 16383 / √12 = 8e-5; five times that, on values that differ by up to 5, is 2e-3.
TEST(Attention, IsTheReferenceInItsFormat) {
  Random random(25);
  for (const AttentionShape& shape : shapes_in_formats()) {
    const Layer layer = random_layer(random, shape, 75);
    const auto expected = decode_all(ref(), layer, 60), got = decode_all(portable(), layer, 60);
    const bool is_coded = shape.key_format == base::KvFormat::q8_0 || shape.value_format == base::KvFormat::q8_0 ||
                          shape.value_format == base::KvFormat::q4;
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], expected[i], is_coded ? 2e-3 : 1e-5) << describe(portable(), layer);
  }
}

// A value that is not a number shows in what sees it, in every format, and nowhere else.
TEST(Attention, BrokenVectorsShow) {
  Random random(26);
  for (base::KvFormat format : {base::KvFormat::f16, base::KvFormat::bf16, base::KvFormat::q8_0, base::KvFormat::q4}) {
    AttentionShape shape{2, 1, 64, 0.125f, 0, 0};
    shape.value_format = format;
    if (format != base::KvFormat::q4) shape.key_format = format;
    Layer layer = random_layer(random, shape, 40);
    layer.values[35 * 64 + 3] = std::numeric_limits<float>::quiet_NaN();
    for (const KernelSet* set : kernel_sets()) {
      if (!set->is_supported()) continue;
      const auto out = decode_all(*set, layer, 30);
      for (size_t position = 0; position < 10; ++position)
        EXPECT_EQ(std::isnan(out[position * 128 + 3]), position >= 5) << describe(*set, layer) << " at " << position;
    }
  }
}

TEST(Attention, RefusesWhatItCannotKeep) {
  AttentionShape shape{2, 1, 80, 0.125f, 0, 0};
  EXPECT_EQ(portable().kv_refusal(shape), nullptr);
  shape.value_format = base::KvFormat::q4;
  EXPECT_NE(portable().kv_refusal(shape), nullptr);
  shape.head_dim = 96;
  EXPECT_EQ(portable().kv_refusal(shape), nullptr);
  shape.key_format = base::KvFormat::q4;
  EXPECT_NE(portable().kv_refusal(shape), nullptr);
  shape.key_format = base::KvFormat::f32;
  EXPECT_NE(portable().kv_refusal(shape), nullptr);
  EXPECT_EQ(ref().kv_refusal(shape), nullptr);
}

// What f16 holds exactly leaves only float32 rounding.
TEST(Attention, IsTheReferenceWhereStorageIsExact) {
  Random random(23);
  for (const AttentionShape& shape : shapes()) {
    Layer layer = random_layer(random, shape, 75);
    for (auto* x : {&layer.keys, &layer.values})
      for (float& value : *x) value = base::half_to_float(base::float_to_half(value));
    const auto expected = decode_all(ref(), layer, 60), got = decode_all(portable(), layer, 60);
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-5) << describe(portable(), layer);
  }
}

// Scores far apart between tiles: the merge must neither overflow nor lose the tile that matters.
TEST(Attention, LargeScoresStayFinite) {
  Random random(24);
  Layer layer = random_layer(random, AttentionShape{4, 2, 64, 0.125f, 0, 0}, 130);
  for (size_t i = 0; i < layer.keys.size(); ++i) layer.keys[i] *= (i / 4096) % 2 == 0 ? 300.0f : 0.01f;
  for (const KernelSet* set : kernel_sets()) {
    if (!set->is_supported()) continue;
    for (float value : decode_all(*set, layer, 100)) ASSERT_TRUE(std::isfinite(value)) << set->name;
  }
  EXPECT_TRUE(same_bits(decode_all(portable(), layer, 100), prefill_all(portable(), layer, 100, 30)));
}

TEST(Attention, ValuesBeyondF16AreStoredAsItsLargest) {
  AttentionShape shape{1, 1, 16, 1.0f, 0, 0};
  Layer layer{shape, 1, std::vector<float>(16, 1e6f), std::vector<float>(16, -1e30f), std::vector<float>(16, 1e-3f)};
  for (const KernelSet* set : kernel_sets()) {
    if (set->name == "ref" || !set->is_supported()) continue;
    for (float value : decode_all(*set, layer, 0)) EXPECT_EQ(value, -65504.0f) << set->name;
  }
}

}  // namespace
}  // namespace takt::kernels
