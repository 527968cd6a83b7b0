// The arithmetic of a model as one table of functions per instruction set. model/ and engine/ see only this header.
//
// Canonical arithmetic (docs/decisions/0002-canonical-arithmetic.md): within one set, the value of every output element is a
// function of its own operands only. Row count, thread count, panel ranges, tiling and chunking change when an element is
// computed, never its bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/kv_format.h"
#include "base/weight_format.h"

namespace takt::kernels {

// Output rows are grouped in panels of this many, one vector lane a row. The last panel is padded with zero weights.
inline constexpr int64_t kPanelRows = 16;
inline int64_t panel_count(int64_t n) { return (n + kPanelRows - 1) / kPanelRows; }

// A weight matrix [n, k] as the kernels read it: packed panels, or (set "ref") the rows of the file in place.
struct PackedMatrix {
  base::WeightFormat format = base::WeightFormat::f32;
  int64_t n = 0;  // outputs
  int64_t k = 0;  // inputs
  const std::byte* data = nullptr;
};

// What a weight format is multiplied with. Fixed per set and format for every row count.
enum class ActivationKind : uint8_t {
  f32,  // as it is
  q8,   // int8 in blocks of 32 with a float32 scale per block, and the block's sum
};

// Rotary embedding pairs: adjacent elements (2i, 2i+1), or halves (i, i + d/2).
enum class RopePairs : uint8_t { adjacent, halves };

// One layer's attention.
struct AttentionShape {
  int32_t head_count = 0;
  int32_t kv_head_count = 0;  // divides head_count; query head h reads kv head h / (head_count / kv_head_count)
  int32_t head_dim = 0;       // of queries, keys and values; a multiple of 16
  float scale = 1;            // multiplies q·k
  float softcap = 0;          // > 0: scores become softcap × tanh(score / softcap)
  int32_t window = 0;         // > 0: a query at p sees keys p - window + 1 … p; 0: all up to p
  base::KvFormat key_format = base::KvFormat::f16;
  base::KvFormat value_format = base::KvFormat::f16;
};

// Positions of one KV page. Attention tiles are pages: absolute positions [32 i, 32 i + 32).
inline constexpr int32_t kPageTokens = 32;

// Tiles of one span, whose states are merged in order (docs/decisions/0002): 512 positions. A merge is two exponentials and one pass over
// head_dim per head, against 512 of each for its keys; a span is what a thread takes of a long row at least.
inline constexpr int32_t kSpanTiles = 16;
// Of one row's heads of one kv head: the sums [group][head_dim], the maxima [group] and the totals [group].
inline int64_t span_state_floats(const AttentionShape& shape) {
  return int64_t{shape.head_count / shape.kv_head_count} * (shape.head_dim + 2);
}

struct KernelSet {
  std::string_view name;         // "avx512", "avx2", "portable", "ref"
  std::string_view description;  // what it needs of the processor
  bool (*is_supported)();        // by this processor and operating system

  // ---- weights -------------------------------------------------------------------------------------------------
  ActivationKind (*activation_kind)(base::WeightFormat format);
  // Bytes of a packed [n, k] matrix; 0: the set reads the file's rows in place and pack() is not called.
  size_t (*packed_bytes)(base::WeightFormat format, int64_t n, int64_t k);
  // Packs panels [panel_begin, panel_end). rows: the whole matrix as in the file; out: the whole packed matrix, 64-byte
  // aligned. k is a multiple of the format's block. Any thread; ranges are independent.
  void (*pack)(base::WeightFormat format, const std::byte* rows, int64_t n, int64_t k, int64_t panel_begin,
               int64_t panel_end, std::byte* out);

  // ---- activations ---------------------------------------------------------------------------------------------
  // Bytes of one prepared row of k values; a multiple of 64.
  size_t (*activation_row_bytes)(ActivationKind kind, int64_t k);
  // Prepares one row: x [k] -> out (64-byte aligned).
  void (*prepare_activation)(ActivationKind kind, const float* x, int64_t k, std::byte* out);

  // ---- linear layers: out[row, col] = sum over k of activations[row, k] × weights[col, k] ---------------------------
  // Row counts up to this go through linear_decode, larger ones through linear_prefill. The bits are the same.
  int32_t decode_rows_max;
  // Few rows: streams the packed weights once. activations [m] prepared rows; out [m, out_stride], columns of the panels
  // [panel_begin, panel_end) are written (only real ones, none of the padding). 1 <= m <= decode_rows_max.
  void (*linear_decode)(const PackedMatrix& weights, const std::byte* activations, int64_t m, int64_t panel_begin,
                        int64_t panel_end, float* out, int64_t out_stride);
  // Many rows: unpacks each panel once into `scratch` and reuses it over all rows.
  void (*linear_prefill)(const PackedMatrix& weights, const std::byte* activations, int64_t m, int64_t panel_begin,
                         int64_t panel_end, float* out, int64_t out_stride, std::byte* scratch);
  // Per thread, 64-byte aligned.
  size_t (*linear_prefill_scratch_bytes)(base::WeightFormat format, int64_t k);

  // ---- row operations (in place where out == x) ------------------------------------------------------------------
  // out[i] = x[i] / sqrt(mean(x²) + eps) × weight[i]
  void (*rms_norm)(const float* x, const float* weight, float eps, int64_t n, float* out);
  void (*add)(const float* x, const float* y, int64_t n, float* out);
  void (*scale)(const float* x, float factor, int64_t n, float* out);
  // out[i] = silu(gate[i]) × up[i], silu(x) = x / (1 + exp(-x))
  void (*silu_multiply)(const float* gate, const float* up, int64_t n, float* out);
  // out[i] = gelu(gate[i]) × up[i], the tanh form
  void (*gelu_multiply)(const float* gate, const float* up, int64_t n, float* out);
  // Rotates the first `rope_dim` values of each of `head_count` heads (stride head_dim) by the row's angles:
  // cos/sin [rope_dim / 2].
  void (*rope)(float* heads, int64_t head_count, int64_t head_dim, int64_t rope_dim, const float* cos, const float* sin,
               RopePairs pairs);

  // ---- KV cache and attention ----------------------------------------------------------------------------------------
  base::KvFormats kv_default;
  // Why the set cannot keep keys and values of this shape in its formats; nullptr: it can, and all below may be called.
  const char* (*kv_refusal)(const AttentionShape& shape);
  // Bytes of one layer's page: keys and values of kPageTokens positions. 64-byte aligned by the caller, zero at the start.
  size_t (*kv_page_bytes)(const AttentionShape& shape);
  // Writes the key and value of one position (slot = position % kPageTokens). key, value [kv_head_count, head_dim].
  void (*kv_store)(const AttentionShape& shape, const float* key, const float* value, int32_t slot, std::byte* page);
  // One query row at `position`, the heads of one kv head. q, out [head_count, head_dim]; pages[i]: the layer's page of
  // positions [32 i, 32 i + 32), for all i <= position / 32 (entries wholly before the window are not read).
  void (*attention_decode)(const AttentionShape& shape, int32_t kv_head, const float* q, int64_t position,
                           const std::byte* const* pages, float* out, std::byte* scratch);
  // The same in parts, for several threads: the states of the row's spans [span_begin, span_end) of those that the row sees, from
  // (its first visible position / 512) to (position / 512), to `states` [span][span_state_floats]; then the merge of all of them in
  // order. The same bits as attention_decode. nullptr: the set does not split.
  void (*attention_decode_spans)(const AttentionShape& shape, int32_t kv_head, const float* q, int64_t position,
                                 const std::byte* const* pages, int64_t span_begin, int64_t span_end, float* states,
                                 std::byte* scratch);
  void (*attention_merge_spans)(const AttentionShape& shape, int32_t kv_head, const float* states, int64_t span_count,
                                float* out);
  // Consecutive query rows at position_begin, position_begin + 1, …; row r's heads at q + r × q_stride, out likewise.
  // row_count <= attention_rows_max. The same bits as attention_decode for each row.
  void (*attention_prefill)(const AttentionShape& shape, int32_t kv_head, const float* q, int64_t q_stride,
                            int64_t position_begin, int64_t row_count, const std::byte* const* pages, float* out,
                            int64_t out_stride, std::byte* scratch);
  int32_t attention_rows_max;
  size_t (*attention_scratch_bytes)(const AttentionShape& shape);  // per thread, 64-byte aligned, for both
};

// All sets compiled in, best first: the one visible dispatch list. "ref" is last and supported everywhere.
const std::vector<const KernelSet*>& kernel_sets();
// The set of this name, or (empty name) the first supported one. nullptr: unknown name, or not supported here.
const KernelSet* select_kernel_set(std::string_view name);

}  // namespace takt::kernels
