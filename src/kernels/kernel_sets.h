// The tables behind kernel_sets(): one object per instruction set, each defined in isa/set_<name>.cc.
#pragma once

#include "kernels/kernel_set.h"

namespace takt::kernels {

extern const KernelSet kRefSet;

}  // namespace takt::kernels
