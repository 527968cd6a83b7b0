// Attention of a set of query rows to one tile, the page of 32 absolute positions: scores, softmax within the tile, weighted values,
// and the merge into each row's running state. Prefill and decode both call attend_tile(); they differ in the rows they bring and in
// where the tile's keys and values are read from. Canonical definition: docs/decisions/0002.
#pragma once

#include "kernels/isa/targets.h"
#include "kernels/shared/kv_page.h"
#include "kernels/shared/math.h"

namespace takt::kernels {

// A tile in the page itself, converted at each use: for the few rows of a decode step.
struct HalfTile {
  const uint16_t* keys;    // [head_dim][32]
  const uint16_t* values;  // [32][head_dim]
  template <class Isa>
  static TAKT_INLINE typename Isa::F load(const uint16_t* p) {
    return Isa::load_f16(p);
  }
};

// A tile converted to float32 once, for the many rows of a prefill chunk.
struct FloatTile {
  const float* keys;
  const float* values;
  template <class Isa>
  static TAKT_INLINE typename Isa::F load(const float* p) {
    return Isa::load_f(p);
  }
};

// The keys [begin, end) of a tile that a query sees.
struct KeyRange {
  int32_t begin;
  int32_t end;
  TAKT_INLINE bool is_empty() const { return begin >= end; }
};

TAKT_INLINE KeyRange visible_keys(const AttentionShape& shape, int64_t position, int64_t tile) {
  const int64_t first = tile * kPageTokens;
  int64_t begin = shape.window > 0 ? position - shape.window + 1 - first : 0, end = position + 1 - first;
  begin = begin < 0 ? 0 : begin;
  end = end > kPageTokens ? kPageTokens : end;
  return begin < end ? KeyRange{static_cast<int32_t>(begin), static_cast<int32_t>(end)} : KeyRange{0, 0};
}

// The first tile that a query at `position` sees.
TAKT_INLINE int64_t first_visible_tile(const AttentionShape& shape, int64_t position) {
  return shape.window > 0 && position >= shape.window ? (position - shape.window + 1) / kPageTokens : 0;
}

// Query rows: `group` heads at each of consecutive positions. Row r is head r % group at position_begin + r / group.
struct QueryRows {
  const float* q;
  int64_t q_stride;  // between positions
  float* out;        // the running sums, then the result
  int64_t out_stride;
  int64_t head_dim;
  int64_t group;
  int64_t position_begin;
  int64_t count;
  // Per row: the largest score so far and the sum of exponentials relative to it.
  float* maximum;
  float* total;

  TAKT_INLINE const float* query(int64_t row) const { return q + row / group * q_stride + row % group * head_dim; }
  TAKT_INLINE float* sums(int64_t row) const { return out + row / group * out_stride + row % group * head_dim; }
  TAKT_INLINE int64_t position(int64_t row) const { return position_begin + row / group; }
};

// Rows that share one pass of vectorised exponentials; a multiple of every set's lanes.
inline constexpr int kRowBlock = 16;

struct RowBlock {
  int64_t first;
  int64_t count;  // 1 … kRowBlock
  KeyRange keys[kRowBlock];
  float weights[kRowBlock][kPageTokens];  // scores, then exponentials
  float old_factor[kRowBlock];            // what the running sums and the tile's are multiplied with
  float tile_factor[kRowBlock];
};

// One chain over the dimensions per (row, key), ascending; all 32 keys, whether the row sees them or not.
template <class Isa, class Tile, int kRows>
TAKT_INLINE void score_rows(const QueryRows& rows, const Tile& tile, RowBlock& block, int64_t r) {
  constexpr int kVectors = kPageTokens / Isa::kLanes;
  typename Isa::F sums[kRows][kVectors];
  const float* q[kRows];
  unroll<kRows>([&](auto i) TAKT_INLINE_LAMBDA {
    q[i.value] = rows.query(block.first + r + i.value);
    unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA { sums[i.value][v.value] = Isa::set_f(0.0f); });
  });
  for (int64_t d = 0; d < rows.head_dim; ++d) {
    typename Isa::F keys[kVectors];
    unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA {
      keys[v.value] = Tile::template load<Isa>(tile.keys + d * kPageTokens + v.value * Isa::kLanes);
    });
    unroll<kRows>([&](auto i) TAKT_INLINE_LAMBDA {
      const auto query = Isa::set_f(q[i.value][d]);
      unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA {
        sums[i.value][v.value] = Isa::fma(query, keys[v.value], sums[i.value][v.value]);
      });
    });
  }
  unroll<kRows>([&](auto i) TAKT_INLINE_LAMBDA {
    unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA {
      Isa::store_f(block.weights[r + i.value] + v.value * Isa::kLanes, sums[i.value][v.value]);
    });
  });
}

// Scores to exponentials relative to the tile's largest score, in place. Keys outside the range get 0, whatever their score was.
template <class Isa>
TAKT_INLINE void softmax_row(const AttentionShape& shape, KeyRange keys, float* weights, float& maximum, float& total) {
  constexpr int kVectors = kPageTokens / Isa::kLanes, kParts = 16 / Isa::kLanes;
  const auto scale = Isa::set_f(shape.scale);
  typename Isa::F x[kVectors], parts[kParts];
  unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA {
    constexpr int kFirst = decltype(v)::value * Isa::kLanes;
    auto score = Isa::mul(Isa::load_f(weights + kFirst), scale);
    if (shape.softcap > 0)
      score = Isa::mul(tanh<Isa>(Isa::mul(score, Isa::set_f(1.0f / shape.softcap))), Isa::set_f(shape.softcap));
    const auto in_vector = [](int32_t key) TAKT_INLINE_LAMBDA {
      return key < kFirst ? 0 : key - kFirst > Isa::kLanes ? Isa::kLanes : key - kFirst;
    };
    x[v.value] = Isa::keep_lanes(score, in_vector(keys.begin), in_vector(keys.end), -__builtin_inff());
  });
  unroll<kParts>([&](auto v) TAKT_INLINE_LAMBDA { parts[v.value] = Isa::max(x[v.value], x[v.value + kParts]); });
  maximum = Isa::max16(parts);
  unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA {
    x[v.value] = exp<Isa>(Isa::sub(x[v.value], Isa::set_f(maximum)));
    Isa::store_f(weights + v.value * Isa::kLanes, x[v.value]);
  });
  unroll<kParts>([&](auto v) TAKT_INLINE_LAMBDA { parts[v.value] = Isa::add(x[v.value], x[v.value + kParts]); });
  total = Isa::sum16(parts);
}

// Softmax of all rows of the block, the merge of their maxima and totals, and the two factors of the merge:
//   maximum' = max(maximum, tile maximum); each factor = e^(own maximum - maximum');
//   total' = total × old factor + tile total × tile factor (the second product rounded, then one fused multiply-add).
template <class Isa>
TAKT_INLINE void softmax_block(const AttentionShape& shape, const QueryRows& rows, RowBlock& block) {
  float tile_total[kRowBlock];
  for (int r = 0; r < kRowBlock; ++r) {
    block.old_factor[r] = block.tile_factor[r] = tile_total[r] = 0.0f;
    if (r >= block.count || block.keys[r].is_empty()) continue;
    float tile_maximum;
    softmax_row<Isa>(shape, block.keys[r], block.weights[r], tile_maximum, tile_total[r]);
    float& maximum = rows.maximum[block.first + r];
    const float merged = maximum > tile_maximum ? maximum : tile_maximum;
    block.old_factor[r] = maximum - merged;
    block.tile_factor[r] = tile_maximum - merged;
    maximum = merged;
  }
  for (int r = 0; r < kRowBlock; r += Isa::kLanes) {
    Isa::store_f(block.old_factor + r, exp<Isa>(Isa::load_f(block.old_factor + r)));
    Isa::store_f(block.tile_factor + r, exp<Isa>(Isa::load_f(block.tile_factor + r)));
  }
  for (int r = 0; r < block.count; ++r) {
    if (block.keys[r].is_empty()) continue;
    float& total = rows.total[block.first + r];
    total = Isa::scalar_fma(total, block.old_factor[r], tile_total[r] * block.tile_factor[r]);
  }
}

// kVectors vectors of dimensions from `d` on, of kRows rows that see the same keys: the tile's weighted values, one chain over the
// keys ascending, and sums' = sums × old factor + (weighted values × tile factor).
template <class Isa, class Tile, int kRows, int kVectors>
TAKT_INLINE void add_values(const QueryRows& rows, const Tile& tile, const RowBlock& block, int64_t r, int64_t d) {
  typename Isa::F values[kRows][kVectors];
  unroll<kRows>([&](auto i) TAKT_INLINE_LAMBDA {
    unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA { values[i.value][v.value] = Isa::set_f(0.0f); });
  });
  for (int32_t key = block.keys[r].begin; key < block.keys[r].end; ++key) {
    typename Isa::F value[kVectors];
    unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA {
      value[v.value] = Tile::template load<Isa>(tile.values + key * rows.head_dim + d + v.value * Isa::kLanes);
    });
    unroll<kRows>([&](auto i) TAKT_INLINE_LAMBDA {
      const auto weight = Isa::set_f(block.weights[r + i.value][key]);
      unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA {
        values[i.value][v.value] = Isa::fma(weight, value[v.value], values[i.value][v.value]);
      });
    });
  }
  unroll<kRows>([&](auto i) TAKT_INLINE_LAMBDA {
    const auto old_factor = Isa::set_f(block.old_factor[r + i.value]),
               tile_factor = Isa::set_f(block.tile_factor[r + i.value]);
    float* sums = rows.sums(block.first + r + i.value) + d;
    unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA {
      float* p = sums + v.value * Isa::kLanes;
      Isa::store_f(p, Isa::fma(Isa::load_f(p), old_factor, Isa::mul(values[i.value][v.value], tile_factor)));
    });
  });
}

template <class Isa, class Tile, int kRows>
TAKT_INLINE void add_all_values(const QueryRows& rows, const Tile& tile, const RowBlock& block, int64_t r) {
  // A single row has only its vectors to hide the latency of the chains, so it takes more of them.
  constexpr int kVectors = kRows == 1 ? 2 * Isa::kValueTileVectors : Isa::kValueTileVectors;
  const int64_t vector_count = rows.head_dim / Isa::kLanes;
  for (int64_t v = 0; v < vector_count; v += kVectors) {
    dispatch_count<kVectors>(vector_count - v, [&](auto vectors) TAKT_INLINE_LAMBDA {
      add_values<Isa, Tile, kRows, decltype(vectors)::value>(rows, tile, block, r, v * Isa::kLanes);
    });
  }
}

// Merges tile number `tile_index` into the rows' running state.
template <class Isa, class Tile>
void attend_tile(const AttentionShape& shape, const QueryRows& rows, int64_t tile_index, const Tile& tile) {
  RowBlock block;
  for (block.first = 0; block.first < rows.count; block.first += kRowBlock) {
    block.count = rows.count - block.first < kRowBlock ? rows.count - block.first : kRowBlock;
    bool is_seen = false;
    for (int64_t r = 0; r < block.count; ++r) {
      block.keys[r] = visible_keys(shape, rows.position(block.first + r), tile_index);
      is_seen |= !block.keys[r].is_empty();
    }
    if (!is_seen) continue;
    for (int64_t r = 0; r < block.count; r += Isa::kScoreTileRows) {
      dispatch_count<Isa::kScoreTileRows>(block.count - r, [&](auto count) TAKT_INLINE_LAMBDA {
        score_rows<Isa, Tile, decltype(count)::value>(rows, tile, block, r);
      });
    }
    softmax_block<Isa>(shape, rows, block);
    for (int64_t r = 0; r < block.count;) {
      int64_t same = 1;
      while (same < Isa::kValueTileRows && r + same < block.count &&
             block.keys[r + same].begin == block.keys[r].begin && block.keys[r + same].end == block.keys[r].end)
        ++same;
      if (!block.keys[r].is_empty()) {
        dispatch_count<Isa::kValueTileRows>(same, [&](auto count) TAKT_INLINE_LAMBDA {
          add_all_values<Isa, Tile, decltype(count)::value>(rows, tile, block, r);
        });
      }
      r += same;
    }
  }
}

template <class Isa>
TAKT_INLINE void begin_rows(const QueryRows& rows) {
  for (int64_t row = 0; row < rows.count; ++row) {
    rows.maximum[row] = -__builtin_inff();
    rows.total[row] = 0.0f;
    for (int64_t d = 0; d < rows.head_dim; d += Isa::kLanes) Isa::store_f(rows.sums(row) + d, Isa::set_f(0.0f));
  }
}

// sums × (1 / total)
template <class Isa>
TAKT_INLINE void finish_rows(const QueryRows& rows) {
  for (int64_t row = 0; row < rows.count; ++row) {
    const auto factor = Isa::set_f(1.0f / rows.total[row]);
    float* sums = rows.sums(row);
    for (int64_t d = 0; d < rows.head_dim; d += Isa::kLanes)
      Isa::store_f(sums + d, Isa::mul(Isa::load_f(sums + d), factor));
  }
}

TAKT_INLINE HalfTile tile_of_page(const AttentionShape& shape, int32_t kv_head, const std::byte* page) {
  const auto* keys = reinterpret_cast<const uint16_t*>(page) + kv_head * kv_head_halves(shape.head_dim);
  return {keys, keys + kPageTokens * int64_t{shape.head_dim}};
}

}  // namespace takt::kernels
