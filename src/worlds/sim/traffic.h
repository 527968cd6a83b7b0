// What arrives in the simulated world, and when.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "contract/request.h"
#include "worlds/sim/random.h"

namespace takt::worlds {

struct Arrival {
  base::Micros at;
  uint32_t prompt_tokens = 1;      // > 0
  uint32_t output_tokens = 1;      // the answer's own length: it stops there, if no limit comes first
  uint32_t output_tokens_max = 1;  // what the client asks for at most
  contract::ServiceClass service_class = contract::ServiceClass::interactive;
  std::optional<base::Micros> cancel_after;  // the client hangs up so long after it arrived
  uint64_t tenant = 0;
  // What the prompt is, where that is known: its tokens, or the names of its blocks of kPromptBlockTokens (the last one
  // may be partly filled). With neither it is like no other prompt.
  std::shared_ptr<const std::vector<contract::TokenId>> prompt = nullptr;
  std::shared_ptr<const std::vector<uint32_t>> blocks = nullptr;
  // The answer's first ids, for a next turn that repeats them. Null: other ones.
  std::shared_ptr<const std::vector<contract::TokenId>> answer = nullptr;
};

// Of a block that Mooncake's traces name.
inline constexpr uint32_t kPromptBlockTokens = 512;

// The prompt's tokens. Equal blocks give equal tokens; `number` tells prompts without a known content apart.
std::shared_ptr<const std::vector<contract::TokenId>> make_prompt(const Arrival& arrival, uint64_t number);

// A source of arrivals in order of time. It may wait for answers before it asks again.
class Traffic {
 public:
  virtual ~Traffic() = default;
  // The next arrival, if one is known now; more may be known after on_finished().
  virtual const Arrival* peek() const = 0;
  // Precondition: peek() is not null.
  virtual void pop() = 0;
  // A request of this traffic ended (or was refused).
  virtual void on_finished(base::Micros now) = 0;
};

// Arrivals that are all known from the start.
class TraceTraffic final : public Traffic {
 public:
  // Sorts them by time; of equal times the first stays first.
  explicit TraceTraffic(std::vector<Arrival> arrivals);
  const Arrival* peek() const override { return next_ < arrivals_.size() ? &arrivals_[next_] : nullptr; }
  void pop() override { ++next_; }
  void on_finished(base::Micros) override {}

 private:
  std::vector<Arrival> arrivals_;
  size_t next_ = 0;
};

enum class ArrivalProcess : uint8_t {
  poisson,  // independent arrivals at `rate`
  gamma,    // the same mean rate, in bursts: gaps with a coefficient of variation of `burstiness`
  closed,   // `clients` of them, each asking again when its answer has ended and it has thought for a while
};

// How a generated load looks. Lengths are log-normal.
struct TrafficSpec {
  uint64_t seed = 7;
  uint32_t request_count = 200;
  ArrivalProcess process = ArrivalProcess::poisson;
  double requests_per_s = 0.7;
  double burstiness = 2;
  uint32_t clients = 8;
  double think_s_mean = 1;
  double prompt_tokens_mean = 300;
  double output_tokens_mean = 100;
  double length_sigma = 0.6;         // of the logarithm of both lengths
  uint32_t tokens_max = 4096;        // of prompt and answer together; longer ones are cut
  uint32_t batch_percent = 20;       // share of the class `batch`
  uint32_t background_percent = 10;  // share of the class `background`
};

// Errors: invalid_argument, naming the field.
base::Status check(const TrafficSpec& spec);

class GeneratedTraffic final : public Traffic {
 public:
  // Precondition: check(spec) is ok.
  explicit GeneratedTraffic(const TrafficSpec& spec);
  const Arrival* peek() const override { return known_.empty() ? nullptr : &known_.back(); }
  void pop() override;
  void on_finished(base::Micros now) override;

 private:
  void generate(base::Micros at);
  base::Micros next_gap();

  TrafficSpec spec_;
  Random random_;
  uint32_t generated_count_ = 0;
  std::vector<Arrival> known_;  // latest first; more than one only in a closed loop
};

}  // namespace takt::worlds
