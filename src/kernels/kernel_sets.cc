#include "kernels/kernel_sets.h"

namespace takt::kernels {

// The dispatch list, in order of preference.
const std::vector<const KernelSet*>& kernel_sets() {
  static const std::vector<const KernelSet*> sets = {
      &kRefSet,
  };
  return sets;
}

const KernelSet* select_kernel_set(std::string_view name) {
  for (const KernelSet* set : kernel_sets())
    if ((name.empty() || name == set->name) && set->is_supported()) return set;
  return nullptr;
}

}  // namespace takt::kernels
