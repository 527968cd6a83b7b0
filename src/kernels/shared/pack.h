// From the file's rows to packed panels (shared/panel_layout.h), the same for every set but "ref".
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/weight_format.h"

namespace takt::kernels {

// See KernelSet::packed_bytes and KernelSet::pack.
size_t packed_bytes(base::WeightFormat format, int64_t n, int64_t k);
void pack(base::WeightFormat format, const std::byte* rows, int64_t n, int64_t k, int64_t panel_begin,
          int64_t panel_end, std::byte* out);

}  // namespace takt::kernels
