// What a network is, apart from its weights: sizes, and the few things in which architectures differ. arch/ fills it from a
// file's metadata; the engine executes it without knowing an architecture's name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel_set.h"

namespace takt::model {

enum class FeedForwardActivation : uint8_t { silu, gelu_tanh };

struct RopeSpec {
  float base = 10000.0f;        // angle of pair i at position p: p × position_scale × base^(-2i/d) / factor[i]
  float position_scale = 1.0f;  // 1 / (linear scaling factor)
  bool operator==(const RopeSpec&) const = default;
};

// A decoder of identical blocks: norm, attention, residual, norm, gated feed-forward, residual.
struct NetworkSpec {
  std::string architecture;
  uint32_t layer_count = 0;
  uint32_t embedding_length = 0;
  uint32_t feed_forward_length = 0;
  uint32_t vocabulary_size = 0;
  uint32_t context_train = 0;
  uint32_t head_count = 0;
  uint32_t kv_head_count = 0;
  uint32_t head_dim = 0;
  uint32_t rope_dim = 0;  // rotated values of each head
  kernels::RopePairs rope_pairs = kernels::RopePairs::adjacent;
  RopeSpec rope;                  // of layers that see everything
  RopeSpec rope_window;           // of window layers
  bool has_rope_factors = false;  // tensor rope_freqs.weight divides the frequencies
  float norm_eps = 1e-5f;
  float embedding_scale = 1.0f;
  float attention_scale = 0.0f;
  float attention_softcap = 0.0f;  // 0: none
  float logit_softcap = 0.0f;      // 0: none
  FeedForwardActivation activation = FeedForwardActivation::silu;
  bool has_qk_norm = false;           // RMS norm of each query and key head, before RoPE
  bool has_post_norms = false;        // RMS norm of the attention's and the feed-forward's output, before the residual
  uint32_t window = 0;                // of window layers: tokens seen, the token itself included
  std::vector<bool> layer_is_window;  // [layer_count]

  kernels::AttentionShape attention_shape(uint32_t layer, base::KvFormats kv = {}) const {
    kernels::AttentionShape shape;
    shape.head_count = static_cast<int32_t>(head_count);
    shape.kv_head_count = static_cast<int32_t>(kv_head_count);
    shape.head_dim = static_cast<int32_t>(head_dim);
    shape.scale = attention_scale;
    shape.softcap = attention_softcap;
    shape.window = layer_is_window[layer] ? static_cast<int32_t>(window) : 0;
    shape.key_format = kv.keys;
    shape.value_format = kv.values;
    return shape;
  }
};

}  // namespace takt::model
