// Who wants to know where a step's time goes. The engine has none unless one is set, and asks nothing more than that.
#pragma once

#include <cstddef>
#include <cstdint>

namespace takt::engine {

// What the time of a step is divided into.
enum class Operation : uint8_t {
  embed,          // plan of the rows, rotary tables, embedding rows
  norm_quantise,  // residual additions, norms, and preparing activations for the products
  qkv,            // the products with the query, key and value matrices
  rope_store,     // biases, query and key norms, rotary embedding, writing keys and values
  attention,
  attention_out,  // the product behind attention
  gate_up,
  activation,  // of gate and up, prepared for `down`
  down,
  logits,    // the product with the output matrix
  sampling,  // from logits to tokens and what follows from them
};
inline constexpr size_t kOperationCount = 11;

class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // The time since the last call belongs to `operation`. On the thread that runs the step.
  virtual void on_end(Operation operation) = 0;
};

}  // namespace takt::engine
