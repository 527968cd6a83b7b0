#include "session.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "app_options.h"
#include "model_path.h"
#include "progress.h"
#include "scheduler/scheduler.h"
#include "worlds/recorder.h"

namespace takt::apps {
namespace {

// A model's own context may be 131,072 tokens and more, of which most people use little: memory is taken for what is used, but
// the number bounds a single request.
constexpr uint32_t kContextDefaultMax = 8192;
constexpr uint64_t kContextsOfMemory = 8;

uint64_t free_memory_bytes() {
  return static_cast<uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::string known_kernel_sets() {
  std::string names;
  for (const kernels::KernelSet* set : kernels::kernel_sets())
    names += (names.empty() ? "" : ", ") + std::string(set->name);
  return names;
}

const kernels::KernelSet& choose_kernels(const std::string& name) {
  const kernels::KernelSet* set = kernels::select_kernel_set(name);
  if (set == nullptr)
    fail("--kernels " + name + ": unknown, or not supported by this processor (known: " + known_kernel_sets() + ")");
  return *set;
}

}  // namespace

void add_session_options(CLI::App& app, SessionOptions& options) {
  app.add_option("MODEL", options.model, "a GGUF file, or the short name of a model in the cache")->required();
  add_option(app, "--threads,-t", options.threads, "threads that compute; 0: one a core")->check(CLI::Range(0, 256));
  add_option(app, "--kernels", options.kernels,
             "instruction set (" + known_kernel_sets() + "); empty: the best supported");
  add_option(app, "--ctx,-c", options.context_tokens,
             "context of a request in tokens, prompt and output; 0: the model's, at most 8192")
      ->check(CLI::Range(0u, kContextTokensMax));
  add_option(app, "--chunk-tokens", options.chunk_tokens, "prompt tokens evaluated in one step at most")
      ->check(CLI::Range(1, 1 << 16));
  add_option(app, "--chunk-tokens-beside-decode", options.chunk_tokens_beside_decode,
             "the same in a step that also decodes; 0: as many as keep the limits of the decoding requests (--slo)")
      ->check(CLI::Range(0, 1 << 16));
  add_kv_options(app, options.kv);
  add_option(app, "--kv-tokens", options.kv_tokens,
             "KV memory in tokens, for all requests together; 0: chosen from the free memory")
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 29));
  add_option(app, "--prefix-cache", options.prefix_cache,
             "on: what was evaluated stays in KV memory that nobody needs, for requests that begin alike; or off")
      ->check(CLI::IsMember({"on", "off"}));
}

std::shared_ptr<const gguf::File> open_model_file(const std::string& model) {
  auto file = gguf::File::open(resolve_model(model));
  if (!file && file.error().code == base::ErrorCode::not_found)
    fail(file.error().message +
         " (expected a GGUF file, or the name of a model that `./x model get NAME` has fetched)");
  if (!file) fail(file.error());
  return std::move(file).value();
}

Session::Session(const SessionOptions& options) {
  const kernels::KernelSet& kernel_set = choose_kernels(options.kernels);
  file_ = open_model_file(options.model);
  note_load("mapping");
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  pool_ = std::make_unique<base::ThreadPool>(options.threads > 0 ? options.threads : cores);
  {
    Progress progress("loading " + options.model);
    auto model = model::load_model(
        file_, kernel_set, *pool_, [&](int64_t done, int64_t total) { progress.report(done, total); },
        kv_formats(options.kv, kernel_set));
    if (!model) fail(options.model + ": " + model.error().message);
    model_ = std::move(model).value();
  }
  note_load("repacking");
  choose_capacity(options);
  const int64_t rows = capacity_.step_tokens_max;
  auto engine = engine::Engine::create(model_, *pool_, {capacity_.page_count, rows});
  if (!engine) fail(engine.error());
  engine_ = std::move(engine).value();
  note_load("allocating");
  auto scheduler = scheduler::make_scheduler(capacity_, options.policy);
  if (!scheduler) fail(scheduler.error());
  scheduler_ = std::move(scheduler).value();
  if (!options.record.empty()) {
    record_stream_.open(options.record, std::ios::binary | std::ios::trunc);
    if (!record_stream_) fail("--record " + options.record + ": cannot be written");
    recorder_ = std::make_unique<worlds::RecordingScheduler>(*scheduler_, capacity_, options.policy, record_stream_);
  }
  world_ = std::make_unique<worlds::RealWorld>(recorder_ ? *recorder_ : *scheduler_, *engine_);
  note_load("other");
  loop_ = std::thread([this] { world_->run(); });
}

// What was done since the last call is called so.
void Session::note_load(const char* what) {
  const auto now = std::chrono::steady_clock::now();
  const auto done = base::Micros(static_cast<int64_t>(load_seconds_ * 1e6));
  load_seconds_ = std::chrono::duration<double>(now - load_began_).count();
  load_times_.emplace_back(what, base::Micros(static_cast<int64_t>(load_seconds_ * 1e6)) - done);
}

Session::~Session() {
  if (world_) world_->stop();
  join();
}

void Session::join() {
  if (loop_.joinable()) loop_.join();
}

void Session::choose_capacity(const SessionOptions& options) {
  const contract::ModelShape& shape = model_->shape;
  const uint32_t context =
      options.context_tokens > 0 ? options.context_tokens : std::min(shape.context_train, kContextDefaultMax);
  if (context > shape.context_train)
    std::fprintf(stderr, "takt: --ctx %u is beyond the %u tokens the model was made for; answers may get worse\n",
                 context, shape.context_train);
  const uint64_t page_bytes = static_cast<uint64_t>(shape.kv_bytes_per_token.count()) * shape.page_tokens;
  const uint64_t context_pages = (context + shape.page_tokens - 1) / shape.page_tokens;
  uint64_t pages = (options.kv_tokens + shape.page_tokens - 1) / shape.page_tokens;
  if (options.kv_tokens == 0)
    pages = std::max(context_pages, std::min(context_pages * kContextsOfMemory, free_memory_bytes() / 3 / page_bytes));
  if (pages * page_bytes >
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)))
    fail("a KV cache of " + std::to_string(pages * page_bytes / 1000000) +
         " MB is more than this machine's memory (--ctx, --kv-tokens)");
  capacity_.page_tokens = shape.page_tokens;
  capacity_.page_count = static_cast<uint32_t>(std::min<uint64_t>(pages, 1u << 24));
  capacity_.context_tokens = context;
  capacity_.has_prefix_cache = options.prefix_cache == "on";
  // Every running request needs a row of a step, so that a small step bounds their number.
  capacity_.rows_max = std::min(options.rows_max, options.chunk_tokens);
  capacity_.step_tokens_max = options.chunk_tokens;
  capacity_.chunk_tokens_beside_decode = std::min(options.chunk_tokens_beside_decode, options.chunk_tokens);
}

}  // namespace takt::apps
