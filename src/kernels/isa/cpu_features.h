// What this processor and operating system can execute.
#pragma once

namespace takt::kernels {

bool has_avx512_vnni();  // AVX-512 F, BW, VL, DQ and VNNI, with the registers saved by the operating system
bool has_avx2();         // AVX2, FMA and F16C, likewise
bool has_avx_vnni();     // the dot instructions of AVX-VNNI (256 bits)
bool has_avx512_bf16();  // AVX-512 and its bfloat16 dots

}  // namespace takt::kernels
