#include "text/template/limits.h"

#include <utility>

namespace takt::text::jinja {
namespace {
thread_local Budget* current_budget = nullptr;
constexpr size_t kBytesPerStep = 64;
}  // namespace

void fail(std::string message, int line) { throw TemplateFailure{std::move(message), line, false}; }

Budget::Budget(const Limits& limits) : limits_(limits), outer_(current_budget) { current_budget = this; }
Budget::~Budget() { current_budget = outer_; }

void Budget::add_steps(uint64_t count) {
  steps_ += count;
  if (steps_ > limits_.steps) fail("the template takes more than " + std::to_string(limits_.steps) + " steps");
}

void Budget::step() {
  if (current_budget != nullptr) current_budget->add_steps(1);
}

void Budget::work(size_t bytes) {
  if (current_budget != nullptr && bytes >= kBytesPerStep) current_budget->add_steps(bytes / kBytesPerStep);
}

void Budget::charge(size_t bytes) {
  if (current_budget == nullptr) return;
  require(bytes);
  work(bytes);
  current_budget->live_bytes_ += static_cast<int64_t>(bytes);
}

void Budget::require(size_t bytes) {
  const Budget* const budget = current_budget;
  if (budget == nullptr) return;
  const size_t limit = budget->limits_.live_bytes;
  if (bytes > limit || budget->live_bytes_ + static_cast<int64_t>(bytes) > static_cast<int64_t>(limit)) {
    fail("the template's values need more than " + std::to_string(limit) + " bytes");
  }
}

void Budget::release(size_t bytes) noexcept {
  if (current_budget != nullptr) current_budget->live_bytes_ -= static_cast<int64_t>(bytes);
}

}  // namespace takt::text::jinja
