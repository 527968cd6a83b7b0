// The shapes that kernels are measured with: those of four small models.
#pragma once

#include <cstdint>

#include "kernels/kernel_set.h"

namespace takt::apps {

struct LinearShape {
  int64_t n, k;
};
// Up and down projections: smollm2-135m, gemma3-270m, qwen2.5-coder-0.5b, qwen2.5-coder-1.5b.
inline constexpr LinearShape kLinearShapes[] = {{1536, 576}, {576, 1536}, {2048, 640},  {640, 2048},
                                                {4864, 896}, {896, 4864}, {8960, 1536}, {1536, 8960}};

struct NamedAttentionShape {
  const char* model;
  kernels::AttentionShape shape;
};
inline constexpr NamedAttentionShape kAttentionShapes[] = {{"smollm2-135m", {9, 3, 64, 0.125f, 0, 0}},
                                                           {"gemma3-270m", {4, 1, 256, 0.0625f, 0, 0}},
                                                           {"qwen2.5-coder-0.5b", {14, 2, 64, 0.125f, 0, 0}},
                                                           {"qwen2.5-coder-1.5b", {12, 2, 128, 0.088388f, 0, 0}}};

}  // namespace takt::apps
