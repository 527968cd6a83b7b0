// Attention of a set of query rows to one tile, the page of 32 absolute positions: scores, softmax within the tile, weighted values,
// and the merge into each row's running state. Prefill and decode both call attend_tile(); they differ in the rows they bring.
// Canonical definition: docs/decisions/0002.
#pragma once

#include "kernels/isa/targets.h"
#include "kernels/shared/kv_tile.h"
#include "kernels/shared/math.h"

namespace takt::kernels {

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
  // Where keys are codes, so are the queries: [count][head_dim] and a scale per row.
  int16_t* codes;
  float* code_scales;

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
  int16_t weight_codes[kRowBlock][kPageTokens];  // where values are codes: exponentials × the values' scales, as codes
};

// One chain over the dimensions per (row, key), ascending; all 32 keys, whether the row sees them or not.
template <class Isa, int kRows>
TAKT_INLINE void score_rows(const QueryRows& rows, const float* tile_keys, RowBlock& block, int64_t r) {
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
      keys[v.value] = Isa::load_f(tile_keys + d * kPageTokens + v.value * Isa::kLanes);
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

// Exact sums of products of codes: kRows rows (`row_codes`, `row_stride` apart) × kVectors vectors of lanes from `lane` on.
// codes [pairs][lanes][2]. Calls use(row, vector, sum).
template <class Isa, int kRows, int kVectors, class Use>
TAKT_INLINE void sum_codes(const int16_t* codes, int64_t lanes, int64_t lane, int64_t pairs, const int16_t* row_codes,
                           int64_t row_stride, const Use& use) {
  typename Isa::I sums[kRows][kVectors];
  unroll<kRows>([&](auto i) TAKT_INLINE_LAMBDA {
    unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA { sums[i.value][v.value] = Isa::set_i(0); });
  });
  codes += 2 * lane;
  for (int64_t pair = 0; pair < pairs; ++pair, codes += 2 * lanes, row_codes += 2) {
    typename Isa::I operands[kVectors];
    unroll<kVectors>([&](auto v)
                         TAKT_INLINE_LAMBDA { operands[v.value] = Isa::load_i(codes + v.value * 2 * Isa::kLanes); });
    unroll<kRows>([&](auto i) TAKT_INLINE_LAMBDA {
      int32_t both;
      __builtin_memcpy(&both, row_codes + i.value * row_stride, sizeof both);
      const auto row = Isa::set_i(both);
      unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA {
        sums[i.value][v.value] = Isa::dot_pairs(sums[i.value][v.value], operands[v.value], row);
      });
    });
  }
  unroll<kRows>([&](auto i) TAKT_INLINE_LAMBDA {
    unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA { use(i, v, sums[i.value][v.value]); });
  });
}

// The same for any number of vectors of lanes. Calls use(row, first lane, sum).
template <class Isa, int kRows, class Use>
TAKT_INLINE void sum_all_codes(const int16_t* codes, int64_t lanes, int64_t pairs, const int16_t* row_codes,
                               int64_t row_stride, const Use& use) {
  for (int64_t lane = 0; lane < lanes; lane += Isa::kCodeTileVectors * Isa::kLanes)
    dispatch_count<Isa::kCodeTileVectors>((lanes - lane) / Isa::kLanes, [&](auto vectors) TAKT_INLINE_LAMBDA {
      sum_codes<Isa, kRows, decltype(vectors)::value>(
          codes, lanes, lane, pairs, row_codes, row_stride,
          [&](auto i, auto v, auto sum) TAKT_INLINE_LAMBDA { use(i, lane + v.value * Isa::kLanes, sum); });
    });
}

// Scores from codes: float(sum) × (key's scale × query's scale).
template <class Isa, int kRows>
TAKT_INLINE void score_coded_rows(const QueryRows& rows, const KvOperand& keys, RowBlock& block, int64_t r) {
  const int64_t first = block.first + r;
  sum_all_codes<Isa, kRows>(keys.codes, kPageTokens, rows.head_dim / 2, rows.codes + first * rows.head_dim,
                            rows.head_dim, [&](auto i, int64_t key, auto sum) TAKT_INLINE_LAMBDA {
                              const auto scale = Isa::mul(Isa::load_f(keys.scales + key),
                                                          Isa::set_f(rows.code_scales[first + i.value]));
                              Isa::store_f(block.weights[r + i.value] + key, Isa::mul(Isa::to_f(sum), scale));
                            });
}

template <class Isa>
TAKT_INLINE void score_block(const QueryRows& rows, const KvOperand& keys, RowBlock& block) {
  constexpr int kRows = Isa::kScoreTileRows, kCodeRows = Isa::kCodeTileRows;
  if (keys.is_coded) {
    for (int64_t r = 0; r < block.count; r += kCodeRows)
      dispatch_count<kCodeRows>(block.count - r, [&](auto count) TAKT_INLINE_LAMBDA {
        score_coded_rows<Isa, decltype(count)::value>(rows, keys, block, r);
      });
    return;
  }
  for (int64_t r = 0; r < block.count; r += kRows)
    dispatch_count<kRows>(block.count - r, [&](auto count) TAKT_INLINE_LAMBDA {
      score_rows<Isa, decltype(count)::value>(rows, keys.floats, block, r);
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

// Adds to a row's sums from `d` on: sums' = sums × old factor + weighted values × tile factor.
template <class Isa>
TAKT_INLINE void merge_values(float* sums, typename Isa::F values, float old_factor, float tile_factor) {
  Isa::store_f(sums, Isa::fma(Isa::load_f(sums), Isa::set_f(old_factor), Isa::mul(values, Isa::set_f(tile_factor))));
}

// kVectors vectors of dimensions from `d` on, of kRows rows that see the same keys: the tile's weighted values, one chain over the
// keys ascending.
template <class Isa, int kRows, int kVectors>
TAKT_INLINE void add_values(const QueryRows& rows, const float* tile_values, const RowBlock& block, int64_t r,
                            int64_t d) {
  typename Isa::F values[kRows][kVectors];
  unroll<kRows>([&](auto i) TAKT_INLINE_LAMBDA {
    unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA { values[i.value][v.value] = Isa::set_f(0.0f); });
  });
  for (int32_t key = block.keys[r].begin; key < block.keys[r].end; ++key) {
    typename Isa::F value[kVectors];
    unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA {
      value[v.value] = Isa::load_f(tile_values + key * rows.head_dim + d + v.value * Isa::kLanes);
    });
    unroll<kRows>([&](auto i) TAKT_INLINE_LAMBDA {
      const auto weight = Isa::set_f(block.weights[r + i.value][key]);
      unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA {
        values[i.value][v.value] = Isa::fma(weight, value[v.value], values[i.value][v.value]);
      });
    });
  }
  unroll<kRows>([&](auto i) TAKT_INLINE_LAMBDA {
    float* sums = rows.sums(block.first + r + i.value) + d;
    unroll<kVectors>([&](auto v) TAKT_INLINE_LAMBDA {
      merge_values<Isa>(sums + v.value * Isa::kLanes, values[i.value][v.value], block.old_factor[r + i.value],
                        block.tile_factor[r + i.value]);
    });
  });
}

template <class Isa, int kRows>
TAKT_INLINE void add_all_values(const QueryRows& rows, const float* tile_values, const RowBlock& block, int64_t r) {
  // A single row has only its vectors to hide the latency of the chains, so it takes more of them.
  constexpr int kVectors = kRows == 1 ? 2 * Isa::kValueTileVectors : Isa::kValueTileVectors;
  const int64_t vector_count = rows.head_dim / Isa::kLanes;
  for (int64_t v = 0; v < vector_count; v += kVectors) {
    dispatch_count<kVectors>(vector_count - v, [&](auto vectors) TAKT_INLINE_LAMBDA {
      add_values<Isa, kRows, decltype(vectors)::value>(rows, tile_values, block, r, v * Isa::kLanes);
    });
  }
}

// Exponentials × the values' scales as codes, zero where the row sees no key; their scale joins the tile's factor. Chosen by selection,
// not by a product with 0: the scale of a stale slot may be anything.
template <class Isa>
TAKT_INLINE void encode_weights(const KvOperand& values, RowBlock& block, int64_t r) {
  float scaled[kPageTokens];
  for (int64_t i = 0; i < kPageTokens; i += Isa::kLanes) {
    const auto in_vector = [&](int64_t key) TAKT_INLINE_LAMBDA {
      return key < i ? 0 : key - i > Isa::kLanes ? Isa::kLanes : key - i;
    };
    const auto product = Isa::mul(Isa::load_f(block.weights[r] + i), Isa::load_f(values.scales + i));
    Isa::store_f(scaled + i,
                 Isa::keep_lanes(product, in_vector(block.keys[r].begin), in_vector(block.keys[r].end), 0.0f));
  }
  block.tile_factor[r] *= encode_wide(scaled, kPageTokens, block.weight_codes[r]);
}

// Rows that see a key, any keys: the tile's values as exact sums of codes.
template <class Isa, int kRows>
TAKT_INLINE void add_coded_values(const QueryRows& rows, const KvOperand& values, const RowBlock& block, int64_t r) {
  sum_all_codes<Isa, kRows>(values.codes, rows.head_dim, kPageTokens / 2, block.weight_codes[r], kPageTokens,
                            [&](auto i, int64_t d, auto sum) TAKT_INLINE_LAMBDA {
                              merge_values<Isa>(rows.sums(block.first + r + i.value) + d, Isa::to_f(sum),
                                                block.old_factor[r + i.value], block.tile_factor[r + i.value]);
                            });
}

template <class Isa>
TAKT_INLINE void add_value_block(const QueryRows& rows, const KvOperand& values, RowBlock& block) {
  constexpr int kRows = Isa::kValueTileRows, kCodeRows = Isa::kCodeTileRows;
  const int64_t rows_max = values.is_coded ? kCodeRows : kRows;
  for (int64_t r = 0; r < block.count;) {
    if (block.keys[r].is_empty()) {
      ++r;
      continue;
    }
    int64_t run = 1;
    const auto goes_on = [&](int64_t next) TAKT_INLINE_LAMBDA {
      const KeyRange keys = block.keys[next];
      return values.is_coded ? !keys.is_empty() : keys.begin == block.keys[r].begin && keys.end == block.keys[r].end;
    };
    while (run < rows_max && r + run < block.count && goes_on(r + run)) ++run;
    if (values.is_coded) {
      for (int64_t i = r; i < r + run; ++i) encode_weights<Isa>(values, block, i);
      dispatch_count<kCodeRows>(run, [&](auto count) TAKT_INLINE_LAMBDA {
        add_coded_values<Isa, decltype(count)::value>(rows, values, block, r);
      });
    } else {
      dispatch_count<kRows>(run, [&](auto count) TAKT_INLINE_LAMBDA {
        add_all_values<Isa, decltype(count)::value>(rows, values.floats, block, r);
      });
    }
    r += run;
  }
}

// Merges tile number `tile_index` into the rows' running state.
template <class Isa>
TAKT_INLINE void attend_tile(const AttentionShape& shape, const QueryRows& rows, int64_t tile_index,
                             const KvTile& tile) {
  RowBlock block;
  for (block.first = 0; block.first < rows.count; block.first += kRowBlock) {
    block.count = rows.count - block.first < kRowBlock ? rows.count - block.first : kRowBlock;
    bool is_seen = false;
    for (int64_t r = 0; r < block.count; ++r) {
      block.keys[r] = visible_keys(shape, rows.position(block.first + r), tile_index);
      is_seen |= !block.keys[r].is_empty();
    }
    if (!is_seen) continue;
    score_block<Isa>(rows, tile.keys, block);
    softmax_block<Isa>(shape, rows, block);
    add_value_block<Isa>(rows, tile.values, block);
  }
}

// The rows of one kv head with their state in `scratch` (attention_state_bytes()).
TAKT_INLINE QueryRows query_rows(const AttentionShape& shape, int32_t kv_head, const float* q, int64_t q_stride,
                                 int64_t position_begin, int64_t row_count, float* out, int64_t out_stride,
                                 std::byte* scratch) {
  QueryRows rows{};
  rows.head_dim = shape.head_dim;
  rows.group = shape.head_count / shape.kv_head_count;
  rows.q = q + kv_head * rows.group * rows.head_dim;
  rows.q_stride = q_stride;
  rows.out = out + kv_head * rows.group * rows.head_dim;
  rows.out_stride = out_stride;
  rows.position_begin = position_begin;
  rows.count = row_count * rows.group;
  rows.maximum = reinterpret_cast<float*>(scratch);
  rows.total = rows.maximum + rows.count;
  rows.code_scales = rows.total + rows.count;
  rows.codes = reinterpret_cast<int16_t*>(rows.code_scales + rows.count);
  return rows;
}

// The same rows (and codes) with a state for one span in `state`: [count][head_dim] sums, [count] maxima, [count] totals.
TAKT_INLINE QueryRows rows_of_span(const QueryRows& rows, float* state) {
  QueryRows span = rows;
  span.out = state;
  span.out_stride = rows.group * rows.head_dim;
  span.maximum = state + rows.count * rows.head_dim;
  span.total = span.maximum + rows.count;
  return span;
}

constexpr TAKT_INLINE int64_t rows_state_floats(const AttentionShape& shape, int64_t row_count) {
  return row_count * (shape.head_count / shape.kv_head_count) * (int64_t{shape.head_dim} + 2);
}

// Of query_rows() and, behind it, of rows_of_span().
constexpr TAKT_INLINE int64_t query_state_bytes(const AttentionShape& shape, int64_t row_count) {
  return row_count * (shape.head_count / shape.kv_head_count) *
         (3 * static_cast<int64_t>(sizeof(float)) + shape.head_dim * static_cast<int64_t>(sizeof(int16_t)));
}
constexpr TAKT_INLINE int64_t attention_state_bytes(const AttentionShape& shape, int64_t row_count) {
  return query_state_bytes(shape, row_count) +
         rows_state_floats(shape, row_count) * static_cast<int64_t>(sizeof(float));
}

template <class Isa>
TAKT_INLINE void begin_rows(const QueryRows& rows) {
  for (int64_t row = 0; row < rows.count; ++row) {
    rows.maximum[row] = -__builtin_inff();
    rows.total[row] = 0.0f;
    for (int64_t d = 0; d < rows.head_dim; d += Isa::kLanes) Isa::store_f(rows.sums(row) + d, Isa::set_f(0.0f));
  }
}

// Rotated queries as codes, where the keys are codes.
template <class Isa>
TAKT_INLINE void encode_queries(const AttentionShape& shape, const QueryRows& rows) {
  for (int64_t row = 0; has_codes(shape.key_format) && row < rows.count; ++row) {
    float rotated[kHeadDimMax];
    __builtin_memcpy(rotated, rows.query(row), static_cast<size_t>(rows.head_dim) * sizeof(float));
    rotate_head<Isa>(rotated, rows.head_dim);
    rows.code_scales[row] = encode_wide(rotated, rows.head_dim, rows.codes + row * rows.head_dim);
  }
}

// Spans: kSpanTiles tiles at absolute positions. A row's state begins anew in each span and the spans' states are merged in ascending
// order, the first one copied. So a row's spans can be computed by several threads, and a merge of 512 positions costs little beside them.
TAKT_INLINE int64_t first_span(const AttentionShape& shape, int64_t position) {
  return first_visible_tile(shape, position) / kSpanTiles;
}
TAKT_INLINE int64_t last_span(int64_t position) { return position / kPageTokens / kSpanTiles; }

// Merges a span's state into a row's: as softmax_block() merges tiles.
template <class Isa>
TAKT_INLINE void merge_span(const float* sums, float span_maximum, float span_total, int64_t head_dim, float* out,
                            float& maximum, float& total) {
  const float merged = maximum > span_maximum ? maximum : span_maximum;
  const auto old_factor = exp<Isa>(Isa::set_f(maximum - merged)), factor = exp<Isa>(Isa::set_f(span_maximum - merged));
  float factors[2][Isa::kLanes];
  Isa::store_f(factors[0], old_factor);
  Isa::store_f(factors[1], factor);
  maximum = merged;
  total = Isa::scalar_fma(total, factors[0][0], span_total * factors[1][0]);
  for (int64_t d = 0; d < head_dim; d += Isa::kLanes)
    Isa::store_f(out + d, Isa::fma(Isa::load_f(out + d), old_factor, Isa::mul(Isa::load_f(sums + d), factor)));
}

// sums [head_dim] × (1 / total), turned back where the values were rotated.
template <class Isa>
TAKT_INLINE void finish_row(const AttentionShape& shape, float total, float* sums) {
  const auto factor = Isa::set_f(1.0f / total);
  for (int64_t d = 0; d < shape.head_dim; d += Isa::kLanes)
    Isa::store_f(sums + d, Isa::mul(Isa::load_f(sums + d), factor));
  if (has_codes(shape.value_format)) rotate_head<Isa>(sums, shape.head_dim);
}

// The tiles of [tile_begin, tile_end), ascending, into the rows' state.
template <class Isa>
TAKT_INLINE void attend_tiles(const AttentionShape& shape, int32_t kv_head, const QueryRows& rows,
                              const std::byte* const* pages, int64_t tile_begin, int64_t tile_end,
                              std::byte* tile_scratch) {
  for (int64_t tile = tile_begin; tile < tile_end; ++tile)
    attend_tile<Isa>(shape, rows, tile, widen_tile<Isa>(shape, kv_head, pages[tile], tile_scratch));
}

// All that the rows see. span_rows: the same rows with a state of their own for one span.
template <class Isa>
TAKT_INLINE void attend_rows(const AttentionShape& shape, int32_t kv_head, const QueryRows& rows,
                             const QueryRows& span_rows, const std::byte* const* pages, std::byte* tile_scratch) {
  const int64_t position_last = rows.position(rows.count - 1), tile_end = position_last / kPageTokens + 1;
  int64_t tile = first_visible_tile(shape, rows.position_begin);
  encode_queries<Isa>(shape, rows);
  const int64_t span_first = tile / kSpanTiles;
  for (int64_t span = span_first; span <= last_span(position_last); ++span) {
    const int64_t span_end = (span + 1) * kSpanTiles < tile_end ? (span + 1) * kSpanTiles : tile_end;
    const QueryRows& state = span == span_first ? rows : span_rows;
    begin_rows<Isa>(state);
    attend_tiles<Isa>(shape, kv_head, state, pages, tile, span_end, tile_scratch);
    tile = span_end;
    for (int64_t row = 0; span > span_first && row < rows.count; ++row) {
      const int64_t position = rows.position(row), row_first = first_span(shape, position);
      if (span < row_first || span > last_span(position)) continue;
      const float* sums = span_rows.sums(row);
      if (span > row_first) {
        merge_span<Isa>(sums, span_rows.maximum[row], span_rows.total[row], rows.head_dim, rows.sums(row),
                        rows.maximum[row], rows.total[row]);
        continue;
      }
      rows.maximum[row] = span_rows.maximum[row];
      rows.total[row] = span_rows.total[row];
      __builtin_memcpy(rows.sums(row), sums, static_cast<size_t>(rows.head_dim) * sizeof(float));
    }
  }
  for (int64_t row = 0; row < rows.count; ++row) finish_row<Isa>(shape, rows.total[row], rows.sums(row));
}

}  // namespace takt::kernels
