// What this processor and operating system can execute.
#pragma once

namespace takt::kernels {

bool has_avx512_vnni();  // AVX-512 F, BW, VL, DQ and VNNI, with the registers saved by the operating system
bool has_avx2();         // AVX2, FMA and F16C, likewise

}  // namespace takt::kernels
