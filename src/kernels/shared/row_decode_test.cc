#include "kernels/shared/row_decode.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/half.h"

namespace takt {
namespace {

std::string fixture_path() {
  const char* other = std::getenv("TAKT_ROW_DECODE_FIXTURE");
  return other ? other : TAKT_SOURCE_DIR "/src/kernels/shared/row_decode_fixture.bin";
}

// The fixture was made by the gguf Python package (row_decode_fixture.py).
TEST(RowDecode, BitsEqualThePythonPackage) {
  std::ifstream file(fixture_path(), std::ios::binary);
  ASSERT_TRUE(file) << fixture_path();
  int formats = 0;
  uint32_t header[3];
  while (file.read(reinterpret_cast<char*>(header), sizeof header)) {
    const auto format = base::weight_format_of_gguf_type(header[0]);
    ASSERT_TRUE(format);
    const base::WeightFormatInfo& info = base::info(*format);
    SCOPED_TRACE(info.name);
    ASSERT_EQ(header[1] / info.block_weights * info.block_bytes, header[2]);
    std::vector<char> blocks(header[2]);
    std::vector<uint32_t> expected(header[1]);
    ASSERT_TRUE(file.read(blocks.data(), static_cast<std::streamsize>(blocks.size())));
    ASSERT_TRUE(file.read(reinterpret_cast<char*>(expected.data()), static_cast<std::streamsize>(expected.size() * 4)));
    std::vector<float> decoded(header[1]);
    kernels::decode_row(*format, reinterpret_cast<const std::byte*>(blocks.data()), header[1], decoded.data());
    size_t wrong = 0;
    for (size_t i = 0; i < decoded.size(); ++i) {
      const bool both_nan = std::isnan(decoded[i]) && std::isnan(std::bit_cast<float>(expected[i]));
      if (!both_nan && std::bit_cast<uint32_t>(decoded[i]) != expected[i] && wrong++ < 5)
        ADD_FAILURE() << "weight " << i << ": " << decoded[i] << ", expected " << std::bit_cast<float>(expected[i]);
    }
    EXPECT_EQ(wrong, 0u);
    ++formats;
  }
  EXPECT_EQ(formats, base::kWeightFormatCount);
}

TEST(RowDecode, KScalesUnpackEverySixBitField) {
  std::byte packed[12];
  for (auto& byte : packed) byte = std::byte{0};
  packed[1] = std::byte{0xc0 | 5};  // scale 1 = 5, upper bits of scale 5
  packed[6] = std::byte{0x40 | 9};  // minimum 2 = 9, upper bits of minimum 6
  packed[9] = std::byte{0x0b};      // low bits of scale 5
  packed[10] = std::byte{0x70};     // low bits of minimum 6
  uint8_t scales[8], minimums[8];
  kernels::unpack_k_scales(packed, scales, minimums);
  EXPECT_EQ(scales[1], 5);
  EXPECT_EQ(scales[5], 0x30 | 0x0b);
  EXPECT_EQ(minimums[2], 9);
  EXPECT_EQ(minimums[6], 0x10 | 7);
  EXPECT_EQ(scales[0] + scales[2] + scales[3] + scales[4] + scales[6] + scales[7], 0);
}

TEST(Half, EveryValueSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = base::half_to_float(static_cast<uint16_t>(bits));
    const uint16_t back = base::float_to_half(value);
    if (std::isnan(value))
      ASSERT_EQ(back, bits | 0x200u);  // becomes quiet
    else
      ASSERT_EQ(back, bits) << value;
  }
}

TEST(Half, KnownValues) {
  EXPECT_EQ(base::half_to_float(0x3c00), 1.0f);
  EXPECT_EQ(base::half_to_float(0x0001), 0x1p-24f);
  EXPECT_EQ(base::half_to_float(0x03ff), 0x1p-24f * 1023);
  EXPECT_EQ(base::half_to_float(0x7bff), 65504.0f);
  EXPECT_TRUE(std::isinf(base::half_to_float(0xfc00)));
  EXPECT_EQ(base::float_to_half(65519.996f), 0x7bff);
  EXPECT_EQ(base::float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(base::float_to_half(0x1p-25f), 0x0000);  // half of the smallest: a tie, to even
  EXPECT_EQ(base::float_to_half(0x1.000002p-25f), 0x0001);
  EXPECT_EQ(base::float_to_half(-0.0f), 0x8000);
}

// Between two neighbouring halves the midpoint goes to the even one and everything else to the nearer one.
TEST(Half, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = base::half_to_float(static_cast<uint16_t>(bits));
    const float high = base::half_to_float(static_cast<uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;  // exact in float32
    ASSERT_EQ(base::float_to_half(middle), bits + (bits & 1u)) << middle;
    ASSERT_EQ(base::float_to_half(std::nextafter(middle, 0.0f)), bits) << middle;
    ASSERT_EQ(base::float_to_half(std::nextafter(middle, 1e9f)), bits + 1) << middle;
    ASSERT_EQ(base::float_to_half(-middle), 0x8000u | (bits + (bits & 1u)));
  }
}

TEST(Bfloat16, RoundsToNearestEvenAndKeepsNan) {
  for (uint32_t bits = 0; bits < 0x7f7f; ++bits) {
    const float low = base::bf16_to_float(static_cast<uint16_t>(bits));
    const float middle = std::bit_cast<float>((bits << 16) | 0x8000u);
    ASSERT_EQ(base::float_to_bf16(low), bits);
    ASSERT_EQ(base::float_to_bf16(middle), bits + (bits & 1u));
    ASSERT_EQ(base::float_to_bf16(std::bit_cast<float>((bits << 16) | 0x7fffu)), bits);
    ASSERT_EQ(base::float_to_bf16(std::bit_cast<float>((bits << 16) | 0x8001u)), bits + 1);
  }
  EXPECT_EQ(base::float_to_bf16(std::bit_cast<float>(0x7f800001u)), 0x7fc0);
  EXPECT_EQ(base::float_to_bf16(std::bit_cast<float>(0xff800000u)), 0xff80);
}

}  // namespace
}  // namespace takt
