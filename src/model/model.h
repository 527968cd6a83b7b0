// A model ready to execute: the file it came from, what the network is, and its weights.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "base/thread_pool.h"
#include "contract/model_shape.h"
#include "gguf/file.h"
#include "kernels/kernel_set.h"
#include "model/network_spec.h"
#include "model/weights/weights.h"

namespace takt::model {

struct Model {
  std::shared_ptr<const gguf::File> file;
  const kernels::KernelSet* kernel_set = nullptr;
  NetworkSpec spec;
  Weights weights;
  contract::ModelShape shape;
};

// The planning sizes of a network; needs no weights in memory.
contract::ModelShape model_shape(const gguf::File& file, const NetworkSpec& spec, const kernels::KernelSet& kernel_set);

// Loads and packs. The file must stay open: embedding rows are read from it.
base::Result<std::shared_ptr<const Model>> load_model(std::shared_ptr<const gguf::File> file,
                                                      const kernels::KernelSet& kernel_set, base::ThreadPool& pool,
                                                      const LoadProgress& progress = {});

}  // namespace takt::model
