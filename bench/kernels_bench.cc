// Speed of the kernels, against what the machine can do at that moment.
//   kernels_bench [--cpu-time] [--set NAME] [--format NAME] [--threads N] [--k INPUTS]
//                 [--bytes OF_WEIGHTS] [--decode-rows-max ROWS] [prefill|decode|rows|attention|pack …]
// Machines are shared: each figure is the best of several runs, and the ceiling is measured again beside each prefill figure.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>

#include "base/thread_pool.h"
#include "kernels/shared/test_matrices.h"

namespace takt::kernels {
namespace {

using namespace testing;
using base::WeightFormat;

// With one thread on a busy machine, the time that the thread had is worth more than the time that passed.
bool uses_cpu_time = false;

double seconds_now() {
  if (uses_cpu_time) {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Best of the runs that fit into 0.3 s, at least three.
double best_seconds(const std::function<void()>& work) {
  double best = 1e30, total = 0;
  work();
  for (int i = 0; i < 3 || total < 0.3; ++i) {
    const double begin = seconds_now();
    work();
    const double taken = seconds_now() - begin;
    best = std::min(best, taken), total += taken;
  }
  return best;
}

#if defined(__x86_64__)
// Twelve independent chains in registers, 64 multiply-adds each.
__attribute__((target("avx512f,avx512vnni"))) void dot_loop(int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    asm volatile(
        "vpdpbusd %%zmm30, %%zmm31, %%zmm0\n vpdpbusd %%zmm30, %%zmm31, %%zmm1\n vpdpbusd %%zmm30, %%zmm31, %%zmm2\n"
        "vpdpbusd %%zmm30, %%zmm31, %%zmm3\n vpdpbusd %%zmm30, %%zmm31, %%zmm4\n vpdpbusd %%zmm30, %%zmm31, %%zmm5\n"
        "vpdpbusd %%zmm30, %%zmm31, %%zmm6\n vpdpbusd %%zmm30, %%zmm31, %%zmm7\n vpdpbusd %%zmm30, %%zmm31, %%zmm8\n"
        "vpdpbusd %%zmm30, %%zmm31, %%zmm9\n vpdpbusd %%zmm30, %%zmm31, %%zmm10\n vpdpbusd %%zmm30, %%zmm31, "
        "%%zmm11\n" ::
            : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11");
  }
}
#else
void dot_loop(int64_t) {}
#endif

// GOP/s of the int8 dot instruction on all threads of the pool; 0 without VNNI.
double int8_ceiling(base::ThreadPool& pool) {
  if (select_kernel_set("avx512") == nullptr) return 0;
  constexpr int64_t kCount = 2'000'000;
  double best = 1e30;
  for (int i = 0; i < 24; ++i) {
    const double begin = seconds_now();
    pool.each(pool.thread_count(), [&](int64_t, int) { dot_loop(kCount); });
    best = std::min(best, seconds_now() - begin);
  }
  return 2.0 * 64 * 12 * kCount * pool.thread_count() / best * 1e-9;
}

// Reads 64-byte lines, asking ahead as the decode kernels do.
void read_lines(const std::byte* p, int64_t count) {
#if defined(__x86_64__)
  for (int64_t i = 0; i < count; ++i, p += 64)
    asm volatile(
        "prefetcht0 4096(%0)\n movaps (%0), %%xmm0\n movaps 16(%0), %%xmm1\n movaps 32(%0), %%xmm2\n movaps 48(%0), "
        "%%xmm3\n" ::"r"(p)
        : "xmm0", "xmm1", "xmm2", "xmm3");
#else
  for (int64_t i = 0; i < count * 64; i += 8) (void)*reinterpret_cast<const volatile uint64_t*>(p + i);
#endif
}

// GB/s of reading `bytes` on all threads.
double read_bandwidth(base::ThreadPool& pool, const AlignedBytes& bytes) {
  const double seconds = best_seconds([&] {
    pool.split(static_cast<int64_t>(bytes.size() / 64),
               [&](int64_t begin, int64_t end, int) { read_lines(bytes.data() + begin * 64, end - begin); });
  });
  return static_cast<double>(bytes.size()) / seconds * 1e-9;
}

struct Shape {
  const char* model;
  int64_t n, k;
};
constexpr Shape kShapes[] = {
    {"smollm2-135m", 1536, 576},        {"smollm2-135m", 576, 1536},        {"gemma3-270m", 2048, 640},
    {"gemma3-270m", 640, 2048},         {"qwen2.5-coder-0.5b", 4864, 896},  {"qwen2.5-coder-0.5b", 896, 4864},
    {"qwen2.5-coder-1.5b", 8960, 1536}, {"qwen2.5-coder-1.5b", 1536, 8960},
};

struct Options {
  const KernelSet* set = select_kernel_set("");
  std::vector<WeightFormat> formats;
  std::vector<int> thread_counts = {1, 2};
  std::vector<std::string> parts;
  int64_t decode_rows_max = 0;  // up to so many rows take the decode path
  int64_t decode_bytes = 256 << 20;
  int64_t decode_k = 896;  // inputs of the matrix of the decode benchmarks
};

int64_t rounded_k(WeightFormat format, int64_t k) {
  const int64_t block = base::info(format).block_weights;
  return (k + block - 1) / block * block;
}

void bench_prefill(const Options& options, WeightFormat format, base::ThreadPool& pool) {
  const KernelSet& set = *options.set;
  Random random(1);
  constexpr int64_t kRows = 512;
  for (const Shape& shape : kShapes) {
    const int64_t n = shape.n, k = rounded_k(format, shape.k);
    const Packed packed = pack_for(set, format, random_weights(random, format, n, k), n, k);
    const ActivationKind kind = set.activation_kind(format);
    const AlignedBytes activations = prepare_for(set, kind, random_floats(random, kRows * k, 1.0f), kRows, k);
    std::vector<float> out(static_cast<size_t>(kRows * n));
    std::vector<AlignedBytes> scratch;
    for (int i = 0; i < pool.thread_count(); ++i) scratch.emplace_back(set.linear_prefill_scratch_bytes(format, k));
    const double seconds = best_seconds([&] {
      pool.split(panel_count(n), [&](int64_t begin, int64_t end, int thread) {
        set.linear_prefill(packed.matrix, activations.data(), kRows, begin, end, out.data(), n,
                           scratch[static_cast<size_t>(thread)].data());
      });
    });
    const double speed = 2.0 * static_cast<double>(n * k * kRows) / seconds * 1e-9, ceiling = int8_ceiling(pool);
    std::printf("prefill  %-8s %-5s %-18s n %5ld k %5ld m %ld threads %d: %7.1f GOP/s  %5.1f %% of int8 ceiling %.0f\n",
                set.name.data(), base::info(format).name.data(), shape.model, n, k, kRows, pool.thread_count(), speed,
                ceiling > 0 ? 100 * speed / ceiling : 0, ceiling);
    std::fflush(stdout);
  }
}

// Rows decoding together over 256 MiB of packed weights, more than the cache holds (or as many as --bytes says).
void bench_decode(const Options& options, WeightFormat format, base::ThreadPool& pool,
                  const std::vector<int64_t>& row_counts) {
  const KernelSet& set = *options.set;
  Random random(2);
  const int64_t k = rounded_k(format, options.decode_k),
                n_block = std::min<int64_t>(4096, options.decode_bytes * 8 / 9 / k / 16 * 16);
  const auto rows = random_weights(random, format, n_block, k);
  const size_t bytes_of_block = set.packed_bytes(format, n_block, k);
  const auto copies = std::max<int64_t>(1, options.decode_bytes / static_cast<int64_t>(bytes_of_block));
  AlignedBytes all(bytes_of_block * static_cast<size_t>(copies));
  for (int64_t i = 0; i < copies; ++i)
    set.pack(format, rows.data(), n_block, k, 0, panel_count(n_block),
             all.data() + static_cast<size_t>(i) * bytes_of_block);
  const PackedMatrix matrix{format, n_block * copies, k, all.data()};
  const ActivationKind kind = set.activation_kind(format);
  const AlignedBytes activations = prepare_for(set, kind, random_floats(random, 64 * k, 1.0f), 64, k);
  std::vector<float> out(static_cast<size_t>(matrix.n * row_counts.back()));
  std::vector<AlignedBytes> scratch;
  for (int i = 0; i < pool.thread_count(); ++i) scratch.emplace_back(set.linear_prefill_scratch_bytes(format, k));
  double seconds_of_first = 0;
  for (int64_t m : row_counts) {
    const double seconds = best_seconds([&] {
      pool.split(panel_count(matrix.n), [&](int64_t begin, int64_t end, int thread) {
        if (m <= options.decode_rows_max)
          set.linear_decode(matrix, activations.data(), m, begin, end, out.data(), matrix.n);
        else
          set.linear_prefill(matrix, activations.data(), m, begin, end, out.data(), matrix.n,
                             scratch[static_cast<size_t>(thread)].data());
      });
    });
    if (m == row_counts.front()) seconds_of_first = seconds;
    std::printf(
        "decode   %-8s %-5s rows %2ld threads %d: %6.1f GB/s of weights, %7.1f GOP/s, %.2f x the time of %ld (read "
        "bandwidth %.1f GB/s)\n",
        set.name.data(), base::info(format).name.data(), m, pool.thread_count(),
        static_cast<double>(all.size()) / seconds * 1e-9, 2e-9 * static_cast<double>(matrix.n * k * m) / seconds,
        seconds / seconds_of_first, row_counts.front(), read_bandwidth(pool, all));
    std::fflush(stdout);
  }
}

void bench_attention(const Options& options, const char* model, AttentionShape shape, int64_t depth) {
  const KernelSet& set = *options.set;
  Random random(3);
  shape.scale = 0.125f;
  const size_t page_bytes = set.kv_page_bytes(shape);
  const int64_t page_count = depth / kPageTokens;
  AlignedBytes pages(page_bytes * static_cast<size_t>(page_count));
  std::vector<const std::byte*> pointers;
  const auto kv = random_floats(random, int64_t{shape.kv_head_count} * shape.head_dim, 1.0f);
  for (int64_t p = 0; p < depth; ++p) {
    std::byte* page = pages.data() + static_cast<size_t>(p / kPageTokens) * page_bytes;
    set.kv_store(shape, kv.data(), kv.data(), static_cast<int32_t>(p % kPageTokens), page);
    if (p % kPageTokens == 0) pointers.push_back(page);
  }
  const int64_t rows = set.attention_rows_max, row = int64_t{shape.head_count} * shape.head_dim;
  const auto q = random_floats(random, rows * row, 1.0f);
  std::vector<float> out(q.size());
  const AlignedBytes scratch(set.attention_scratch_bytes(shape));
  const double decode = best_seconds([&] {
    for (int32_t head = 0; head < shape.kv_head_count; ++head)
      set.attention_decode(shape, head, q.data(), depth - 1, pointers.data(), out.data(), scratch.data());
  });
  const double prefill = best_seconds([&] {
    for (int32_t head = 0; head < shape.kv_head_count; ++head)
      set.attention_prefill(shape, head, q.data(), row, depth - rows, rows, pointers.data(), out.data(), row,
                            scratch.data());
  });
  const double operations = 4.0 * static_cast<double>(depth * row);
  std::printf(
      "attention %-8s %-18s depth %ld threads 1: decode %6.1f us a row, %5.1f GB/s of KV, %5.1f GFLOP/s; prefill %6.1f "
      "us a row, %5.1f GFLOP/s\n",
      set.name.data(), model, depth, decode * 1e6, static_cast<double>(pages.size()) / decode * 1e-9,
      operations / decode * 1e-9, prefill / static_cast<double>(rows) * 1e6,
      operations * static_cast<double>(rows) / prefill * 1e-9);
}

void bench_pack(const Options& options, WeightFormat format) {
  const KernelSet& set = *options.set;
  Random random(4);
  const int64_t n = 8960, k = rounded_k(format, 1536);
  const auto rows = random_weights(random, format, n, k);
  AlignedBytes out(set.packed_bytes(format, n, k));
  const double seconds = best_seconds([&] { set.pack(format, rows.data(), n, k, 0, panel_count(n), out.data()); });
  const double once = best_seconds([&] { std::memcpy(out.data(), rows.data(), std::min(out.size(), rows.size())); });
  std::printf("pack     %-8s %-5s threads 1: %5.2f GB/s (memcpy %5.2f)\n", set.name.data(),
              base::info(format).name.data(), static_cast<double>(rows.size()) / seconds * 1e-9,
              static_cast<double>(rows.size()) / once * 1e-9);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--set")
      options.set = select_kernel_set(value), ++i;
    else if (word == "--cpu-time")
      uses_cpu_time = true, options.thread_counts = {1};
    else if (word == "--threads")
      options.thread_counts = {std::max(1, std::atoi(value))}, ++i;
    else if (word == "--decode-rows-max")
      options.decode_rows_max = std::atoi(value), ++i;
    else if (word == "--bytes")
      options.decode_bytes = std::max(1 << 16, std::atoi(value)), ++i;
    else if (word == "--k")
      options.decode_k = std::max(1, std::atoi(value)), ++i;
    else if (word == "--format") {
      const auto format = base::weight_format_of_name(value);
      if (!format) std::fprintf(stderr, "unknown format %s\n", value), std::exit(2);
      options.formats.push_back(*format), ++i;
    } else
      options.parts.push_back(word);
  }
  if (options.set == nullptr) std::fprintf(stderr, "no such kernel set here\n"), std::exit(2);
  if (options.decode_rows_max == 0) options.decode_rows_max = options.set->decode_rows_max;
  if (options.formats.empty())
    for (int i = 0; i < base::kWeightFormatCount; ++i) options.formats.push_back(static_cast<WeightFormat>(i));
  if (options.parts.empty()) options.parts = {"prefill", "decode", "attention", "pack"};
  return options;
}

void run(const Options& options) {
  for (const std::string& part : options.parts) {
    for (int threads : options.thread_counts) {
      base::ThreadPool pool(threads);
      for (WeightFormat format : options.formats) {
        if (part == "prefill") bench_prefill(options, format, pool);
        if (part == "decode") bench_decode(options, format, pool, {1, 2, 4, 8});
        if (part == "rows") bench_decode(options, format, pool, {1, 8, 9, 12, 16, 24, 32, 48, 64});
      }
    }
    if (part == "attention") {
      for (int64_t depth : {int64_t{512}, int64_t{4096}}) {
        bench_attention(options, "smollm2-135m", {9, 3, 64, 0, 0, 0}, depth);
        bench_attention(options, "gemma3-270m", {4, 1, 256, 0, 0, 0}, depth);
        bench_attention(options, "qwen2.5-coder-0.5b", {14, 2, 64, 0, 0, 0}, depth);
        bench_attention(options, "qwen2.5-coder-1.5b", {12, 2, 128, 0, 0, 0}, depth);
      }
    }
    if (part == "pack")
      for (WeightFormat format : options.formats) bench_pack(options, format);
  }
}

}  // namespace
}  // namespace takt::kernels

int main(int argc, char** argv) {
  takt::kernels::run(takt::kernels::parse(argc, argv));
  return 0;
}
