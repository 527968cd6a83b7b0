// `takt bench division`: how wrong the division of a mixed step's time is, found by running the step without the part.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "app_options.h"
#include "bench/bench_commands.h"
#include "bench/engine_driver.h"
#include "scheduler/step_estimator.h"
#include "session.h"
#include "worlds/time_ledger.h"

namespace takt::apps {
namespace {

using contract::TimePart;

struct DivisionCommand {
  std::string model, kernels;
  int threads = 0, repetitions = 5;
};

constexpr int64_t kDepth = 128;  // tokens of each decoding sequence before
const std::vector<int64_t> kRowCounts{0, 1, 2, 4, 8};
const std::vector<int64_t> kChunks{0, 16, 32, 64, 128};
constexpr int64_t kChunkSequence = 8;  // behind those that decode

// The scheduler's estimator and nothing else of a scheduler: what the ledger asks.
class Estimates final : public contract::SchedulerPort {
 public:
  contract::Admission submit(const contract::Request&, base::Micros) override { return {}; }
  void cancel(contract::RequestId, base::Micros) override {}
  contract::StepPlan next(base::Micros) override { return {}; }
  void absorb(const contract::StepResult&, base::Micros) override {}
  contract::Bounds bounds() const override { return {}; }
  base::Micros predict(const contract::StepShape& shape) const override { return estimator.predict(shape); }
  bool is_short_of_pages() const override { return false; }
  scheduler::StepEstimator estimator;
};

// What one composition of rows took, and how the ledger divided it for the first decode row.
struct Composition {
  std::vector<double> took_us, own_us, chunk_us;
};
using Compositions = std::map<std::pair<int64_t, int64_t>, Composition>;  // by decode rows and chunk tokens

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Runs {
 public:
  Runs(std::shared_ptr<const model::Model> model, base::ThreadPool& pool, const DivisionCommand& command)
      : driver_(std::move(model), pool, options(command)), positions_(kRowCounts.back(), kDepth) {
    for (int64_t sequence = 0; sequence < kRowCounts.back(); ++sequence) {
      driver_.begin(sequence, kDepth + 1);
      driver_.prefill(sequence, 0, kDepth, kChunks.back());
    }
  }

  // Takes part in the estimates; `out`: and in the figures.
  void run(int64_t rows, int64_t chunk, Composition* out) {
    if (chunk > 0) driver_.begin(kChunkSequence, chunk + 1);  // the rest of its prompt never comes: no logits
    const std::vector<int64_t> positions(positions_.begin(), positions_.begin() + rows);
    const auto done = driver_.mixed(positions, kChunkSequence, 0, chunk);
    for (int64_t i = 0; i < rows; ++i) ++positions_[static_cast<size_t>(i)];
    contract::StepShape shape;
    for (const auto& each : done.plan.prefill_chunks) shape.add(each);
    for (const auto& each : done.plan.decode_rows) shape.add(each);
    if (out != nullptr) divide(done, *out);
    estimates_.estimator.learn(shape, done.completion.result.duration);
  }

 private:
  static DriverOptions options(const DivisionCommand& command) {
    const int64_t steps = (command.repetitions + 1) * static_cast<int64_t>(kRowCounts.size() * kChunks.size());
    DriverOptions options;
    options.sequence_count = kChunkSequence + 1;
    options.positions = kDepth + steps + 2;
    options.step_rows_max = kChunks.back() + kRowCounts.back();
    options.does_sample = false;
    return options;
  }

  void divide(const EngineDriver::Mixed& done, Composition& out) {
    const base::Micros took = done.completion.result.duration;
    out.took_us.push_back(static_cast<double>(took.count()));
    if (done.plan.decode_rows.empty()) return;
    worlds::TimeLedger ledger;
    const contract::RequestId first = done.plan.decode_rows[0].request;
    ledger.submit(first, base::Micros(0));
    ledger.begin_step(done.plan, estimates_, base::Micros(0));
    ledger.end_step(done.completion.result, done.completion.sampling, took);
    const contract::TimeParts parts = ledger.take(first, took);
    out.own_us.push_back(static_cast<double>((parts[TimePart::own_compute] + parts[TimePart::sampling]).count()));
    out.chunk_us.push_back(static_cast<double>(parts[TimePart::other_prefill].count()));
  }

  EngineDriver driver_;
  Estimates estimates_;
  std::vector<int64_t> positions_;
};

void print(Compositions& found) {
  std::printf("| %4s | %5s | %8s | %16s | %16s | %14s |\n", "rows", "chunk", "step ms", "chunk: said, is",
              "own: said, is", "chunk error");
  std::printf("| ---: | ----: | -------: | ---------------: | ---------------: | -------------: |\n");
  std::vector<double> errors;
  for (auto& [key, composition] : found) {
    const auto [rows, chunk] = key;
    if (rows == 0 || chunk == 0) continue;
    const double step = median(composition.took_us);
    const double chunk_said = median(composition.chunk_us), own_said = median(composition.own_us);
    const double chunk_is = step - median(found[{rows, 0}].took_us), own_is = median(found[{1, 0}].took_us);
    errors.push_back(100 * std::abs(chunk_said - chunk_is) / step);
    std::printf("| %4lld | %5lld | %8.1f | %7.1f, %7.1f | %7.1f, %7.1f | %5.1f %% of step |\n",
                static_cast<long long>(rows), static_cast<long long>(chunk), step / 1e3, chunk_said / 1e3,
                chunk_is / 1e3, own_said / 1e3, own_is / 1e3, errors.back());
  }
  std::printf("\nthe chunk's part is wrong by %.1f %% of the step (median), %.1f %% at most\n", median(errors),
              *std::max_element(errors.begin(), errors.end()));
}

void run(const DivisionCommand& command) {
  const kernels::KernelSet* set = kernels::select_kernel_set(command.kernels);
  if (set == nullptr) fail("--kernels " + command.kernels + ": unknown, or not supported by this processor");
  const auto model = load_for_bench(open_model_file(command.model), *set);
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  base::ThreadPool pool(command.threads > 0 ? command.threads : cores);
  Runs runs(model, pool, command);
  Compositions found;
  // The first round only teaches the estimator. Each takes all compositions in turn, so that a machine that gets slower for a
  // while does so for all of them.
  for (int round = 0; round <= command.repetitions; ++round) {
    for (const int64_t rows : kRowCounts) {
      for (const int64_t chunk : kChunks)
        if (rows + chunk > 0) runs.run(rows, chunk, round > 0 ? &found[{rows, chunk}] : nullptr);
    }
  }
  print(found);
}

}  // namespace

void add_bench_division_command(CLI::App& bench) {
  auto* command = bench.add_subcommand("division", "How wrong the division of mixed steps among requests is");
  auto options = std::make_shared<DivisionCommand>();
  command->add_option("MODEL,-m,--model", options->model, "a GGUF file, or the short name of a model in the cache")
      ->required();
  add_option(*command, "-r,--repetitions", options->repetitions, "of each composition of a step")
      ->check(CLI::Range(1, 100));
  add_option(*command, "-t,--threads", options->threads, "threads; 0: one a core")->check(CLI::Range(0, 256));
  add_option(*command, "--kernels", options->kernels, "instruction set; empty: the best supported");
  command->footer(
      "Runs steps of decode rows and a prompt chunk, the same without the chunk, and one row alone. `said` is what the "
      "server would\n"
      "say of the first row's time, `is` what the step was longer for the chunk, and what a step of that row alone "
      "took.\n"
      "Example:\n  takt bench division smollm2-135m");
  command->callback([options] { run(*options); });
}

}  // namespace takt::apps
