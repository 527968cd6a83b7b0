#include "kernels/shared/activation.h"

#include "kernels/shared/panel_layout.h"

namespace takt::kernels {

size_t activation_row_bytes(ActivationKind kind, int64_t k) {
  return static_cast<size_t>(
      round_up_64(kind == ActivationKind::f32 ? k * 4 : k + k / 32 * int64_t{sizeof(ActivationBlock)}));
}

}  // namespace takt::kernels
