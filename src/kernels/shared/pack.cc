#include "kernels/shared/pack.h"

#include <algorithm>
#include <cstring>

#include "kernels/kernel_set.h"
#include "kernels/shared/panel_layout.h"
#include "kernels/shared/row_decode.h"

namespace takt::kernels {
namespace {

using base::WeightFormat;

constexpr int kRows = static_cast<int>(kPanelRows);

uint16_t u16_at(const uint8_t* p) {
  uint16_t x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
uint32_t u32_at(const uint8_t* p) {
  uint32_t x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
void put_u16(uint8_t* p, uint16_t x) { std::memcpy(p, &x, sizeof x); }
void put_u32(uint8_t* p, uint32_t x) { std::memcpy(p, &x, sizeof x); }

constexpr uint32_t kLowNibbles = 0x0f0f0f0f;

constexpr uint32_t kLowestBits = 0x01010101;

// Bits 0 … 3 to the lowest bits of bytes 0 … 3.
uint32_t spread_four_bits(uint32_t four_bits) { return (four_bits * 0x00204081u) & kLowestBits; }

// Each pack_<format> writes one row's block into the panel: `scales` and `quants` are the panel's parts for this block.

// Nibbles of a 32-weight block lie in the file as the panel wants them: byte j holds weights j and j + 16.
void pack_file_nibbles(const uint8_t* nibbles, int row, uint8_t* quants) {
  for (int v = 0; v < 4; ++v) put_u32(quants + v * 64 + row * 4, u32_at(nibbles + v * 4));
}

void pack_file_fifth_bits(uint32_t bits, int row, uint8_t* quants) {
  uint32_t planes = 0;
  for (int group = 0; group < 8; ++group) planes |= spread_four_bits((bits >> (4 * group)) & 15u) << group;
  put_u32(quants + 256 + row * 4, planes);
}

template <WeightFormat kFormat>
void pack_block_32(const uint8_t* block, int row, uint8_t* scales, uint8_t* quants) {
  constexpr bool kHasMinimum = PanelLayout<kFormat>::kHasMinimum;
  put_u16(scales + row * 2, u16_at(block));
  if constexpr (kHasMinimum) put_u16(scales + 32 + row * 2, u16_at(block + 2));
  const uint8_t* rest = block + (kHasMinimum ? 4 : 2);
  if constexpr (kFormat == WeightFormat::q8_0) {
    for (int group = 0; group < 8; ++group)
      put_u32(quants + group * 64 + row * 4, u32_at(rest + group * 4) ^ 0x80808080u);
  } else if constexpr (PanelLayout<kFormat>::kBits == 5) {
    pack_file_fifth_bits(u32_at(rest), row, quants);
    pack_file_nibbles(rest + 4, row, quants);
  } else {
    pack_file_nibbles(rest, row, quants);
  }
}

// Q4_K and Q5_K keep sub-blocks 2 r and 2 r + 1 in the low and high nibbles of one run of 32 bytes.
void pack_k_nibbles(const uint8_t* runs, int row, int quant_bytes, uint8_t* quants) {
  for (int sub = 0; sub < 8; ++sub) {
    const uint8_t* run = runs + sub / 2 * 32;
    const int shift = sub % 2 * 4;
    for (int v = 0; v < 4; ++v) {
      const uint32_t low = (u32_at(run + v * 4) >> shift) & kLowNibbles;
      const uint32_t high = (u32_at(run + 16 + v * 4) >> shift) & kLowNibbles;
      put_u32(quants + sub * quant_bytes + v * 64 + row * 4, low | (high << 4));
    }
  }
}

template <WeightFormat kFormat>
void pack_block_k(const uint8_t* block, int row, uint8_t* scales, uint8_t* quants) {
  constexpr int kQuantBytes = PanelLayout<kFormat>::kQuantBytes;
  put_u16(scales + row * 2, u16_at(block));
  put_u16(scales + 32 + row * 2, u16_at(block + 2));
  uint8_t sub_scales[8], sub_minimums[8];
  unpack_k_scales(reinterpret_cast<const std::byte*>(block + 4), sub_scales, sub_minimums);
  for (int sub = 0; sub < 8; ++sub) {
    scales[64 + sub * 16 + row] = sub_scales[sub];
    scales[192 + sub * 16 + row] = sub_minimums[sub];
  }
  if constexpr (kFormat == WeightFormat::q4_k) {
    pack_k_nibbles(block + 16, row, kQuantBytes, quants);
  } else {
    pack_k_nibbles(block + 48, row, kQuantBytes, quants);
    for (int sub = 0; sub < 8; ++sub) {
      uint32_t planes = 0;
      for (int group = 0; group < 8; ++group)
        planes |= ((u32_at(block + 16 + group * 4) >> sub) & kLowestBits) << group;
      put_u32(quants + sub * kQuantBytes + 256 + row * 4, planes);
    }
  }
}

void pack_block_q6_k(const uint8_t* block, int row, uint8_t* scales, uint8_t* quants) {
  put_u16(scales + row * 2, u16_at(block + 208));
  for (int i = 0; i < 16; ++i) scales[32 + i * 16 + row] = block[192 + i];
  for (int run = 0; run < 8; ++run) {
    const uint8_t* low = block + run / 4 * 64 + run % 2 * 32;
    const uint8_t* high = block + 128 + run / 4 * 32;
    const int low_shift = run % 4 / 2 * 4, high_shift = run % 4 * 2;
    uint8_t* out = quants + run * PanelLayout<WeightFormat::q6_k>::kQuantBytes + row * 4;
    for (int v = 0; v < 4; ++v) {
      const uint32_t first = (u32_at(low + v * 4) >> low_shift) & kLowNibbles;
      const uint32_t second = (u32_at(low + 16 + v * 4) >> low_shift) & kLowNibbles;
      put_u32(out + v * 64, first | (second << 4));
    }
    for (int h = 0; h < 2; ++h) {
      uint32_t pairs = 0;
      for (int i = 0; i < 4; ++i) pairs |= ((u32_at(high + (4 * h + i) * 4) >> high_shift) & 0x03030303u) << (2 * i);
      put_u32(out + 256 + h * 64, pairs);
    }
  }
}

template <WeightFormat kFormat>
void pack_block(const uint8_t* block, int row, uint8_t* scales, uint8_t* quants) {
  if constexpr (kFormat == WeightFormat::q6_k)
    pack_block_q6_k(block, row, scales, quants);
  else if constexpr (PanelLayout<kFormat>::kIsK)
    pack_block_k<kFormat>(block, row, scales, quants);
  else
    pack_block_32<kFormat>(block, row, scales, quants);
}

template <WeightFormat kFormat>
void pack_quantised_panel(const uint8_t* rows, int64_t row_count, int64_t k, uint8_t* panel) {
  using Layout = PanelLayout<kFormat>;
  const int64_t block_count = k / Layout::kBlockWeights, block_bytes = base::info(kFormat).block_bytes;
  const PanelGeometry geometry = panel_geometry<kFormat>(k);
  if (row_count < kRows) std::memset(panel, 0, static_cast<size_t>(geometry.panel_bytes));
  for (int64_t i = 0; i < block_count; ++i)
    for (int row = 0; row < row_count; ++row)
      pack_block<kFormat>(rows + (row * block_count + i) * block_bytes, row, panel + i * Layout::kScaleBytes,
                          panel + geometry.scale_bytes + i * Layout::kSubBlocks * Layout::kQuantBytes);
}

template <WeightFormat kFormat>
void pack_float_panel(const uint8_t* rows, int64_t row_count, int64_t k, uint8_t* panel) {
  constexpr int64_t kBytes = PanelLayout<kFormat>::kBytes;
  if (row_count < kRows) std::memset(panel, 0, static_cast<size_t>(panel_geometry<kFormat>(k).panel_bytes));
  for (int64_t i = 0; i < k; ++i)
    for (int64_t row = 0; row < row_count; ++row)
      std::memcpy(panel + (i * kRows + row) * kBytes, rows + (row * k + i) * kBytes, kBytes);
}

template <WeightFormat kFormat>
void pack_panels(const std::byte* rows, int64_t n, int64_t k, int64_t panel_begin, int64_t panel_end, std::byte* out) {
  const int64_t row_bytes = k / base::info(kFormat).block_weights * base::info(kFormat).block_bytes;
  const int64_t panel_bytes = panel_geometry<kFormat>(k).panel_bytes;
  for (int64_t i = panel_begin; i < panel_end; ++i) {
    const auto* first = reinterpret_cast<const uint8_t*>(rows + i * kRows * row_bytes);
    auto* panel = reinterpret_cast<uint8_t*>(out + i * panel_bytes);
    const int64_t row_count = std::min<int64_t>(kRows, n - i * kRows);
    if constexpr (requires { PanelLayout<kFormat>::kBytes; })
      pack_float_panel<kFormat>(first, row_count, k, panel);
    else
      pack_quantised_panel<kFormat>(first, row_count, k, panel);
  }
}

struct Packing {
  PanelGeometry (*geometry)(int64_t k);
  void (*pack)(const std::byte*, int64_t, int64_t, int64_t, int64_t, std::byte*);
};

template <WeightFormat kFormat>
constexpr Packing packing() {
  return {[](int64_t k) { return panel_geometry<kFormat>(k); }, pack_panels<kFormat>};
}

// In the order of WeightFormat.
constexpr Packing kPackings[base::kWeightFormatCount] = {
    packing<WeightFormat::f32>(),  packing<WeightFormat::f16>(),  packing<WeightFormat::bf16>(),
    packing<WeightFormat::q4_0>(), packing<WeightFormat::q4_1>(), packing<WeightFormat::q5_0>(),
    packing<WeightFormat::q5_1>(), packing<WeightFormat::q8_0>(), packing<WeightFormat::q4_k>(),
    packing<WeightFormat::q5_k>(), packing<WeightFormat::q6_k>(),
};

const Packing& packing_of(WeightFormat format) { return kPackings[static_cast<size_t>(format)]; }

}  // namespace

size_t packed_bytes(WeightFormat format, int64_t n, int64_t k) {
  return static_cast<size_t>(panel_count(n) * packing_of(format).geometry(k).panel_bytes);
}

void pack(WeightFormat format, const std::byte* rows, int64_t n, int64_t k, int64_t panel_begin, int64_t panel_end,
          std::byte* out) {
  packing_of(format).pack(rows, n, k, panel_begin, panel_end, out);
}

}  // namespace takt::kernels
