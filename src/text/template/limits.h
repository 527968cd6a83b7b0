// Bounds on what one template may cost, and the failure that ends a template which breaks a rule or a bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace takt::text::jinja {

struct Limits {
  size_t source_bytes = size_t{256} << 10;  // published chat templates are below 20 kB
  size_t output_bytes = size_t{64} << 20;   // rendered text, captured blocks included
  size_t live_bytes = size_t{256} << 20;    // all values alive at one time, beyond the caller's inputs
  // Nodes evaluated, plus one per 64 bytes copied or scanned; 50 million take 1 to 4 seconds. A conversation of 2000
  // messages needs 0.1 to 0.2 million with most templates, and 7 million with gpt-oss, which is quadratic in the messages.
  uint64_t steps = 50'000'000;
};

constexpr int kParseDepthMax = 200;           // nesting of expressions and statements in the source
constexpr int kEvaluateDepthMax = 1000;       // nested evaluation steps; a macro call uses about eight
constexpr int kValueDepthMax = 100;           // containers within containers
constexpr int64_t kRangeLengthMax = 100'000;  // the sandbox's own bound in Python

// Internal to text/template: thrown where a template fails, caught where ChatTemplate returns a Result.
struct TemplateFailure {
  std::string message;
  int line = 0;         // 0: unknown as yet; the innermost statement or expression fills it in
  bool raised = false;  // by raise_exception(): the message is the template's own and stays as it is
};

[[noreturn]] void fail(std::string message, int line = 0);

// What one render has used. Values are charged where they are made, which is why the budget in force is found through
// a thread-local pointer: one render runs on one thread. Without a budget in force (a caller builds its inputs)
// nothing is counted.
class Budget {
 public:
  explicit Budget(const Limits& limits);
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // Throw TemplateFailure when a bound is passed.
  static void step();
  static void work(size_t bytes);    // bytes looked at
  static void charge(size_t bytes);  // bytes about to be allocated (and copied)
  static void release(size_t bytes) noexcept;
  static void require(size_t bytes);  // could `bytes` more be allocated?

 private:
  void add_steps(uint64_t count);

  const Limits limits_;
  Budget* const outer_;
  uint64_t steps_ = 0;
  int64_t live_bytes_ = 0;
};

}  // namespace takt::text::jinja
