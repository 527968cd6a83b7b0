#include "support/test_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "model/arch/architecture.h"

namespace takt::tests {

std::string cached_model(const std::string& name) {
  std::filesystem::path cache;
  if (const char* folder = std::getenv("TAKT_CACHE"))
    cache = folder;
  else if (const char* xdg = std::getenv("XDG_CACHE_HOME"))
    cache = std::filesystem::path(xdg) / "takt";
  else if (const char* home = std::getenv("HOME"))
    cache = std::filesystem::path(home) / ".cache" / "takt";
  const auto path = cache / "models" / (name + ".gguf");
  return std::filesystem::is_regular_file(path) ? path.string() : "";
}

std::string shared_path(const std::string& relative) {
  const char* folder = std::getenv("TAKT_SHARED");
  const std::filesystem::path root =
      folder != nullptr ? std::filesystem::path(folder) : std::filesystem::path(TAKT_SOURCE_DIR) / ".." / "shared";
  const auto path = root / relative;
  return std::filesystem::exists(path) ? path.string() : "";
}

std::unique_ptr<TestModel> TestModel::load(const std::string& path, const std::string& kernel_set, int threads,
                                           const std::function<void(model::NetworkSpec&)>& change,
                                           std::optional<base::KvFormats> kv) {
  const kernels::KernelSet* set = kernels::select_kernel_set(kernel_set);
  auto file = gguf::File::open(path);
  if (set == nullptr || !file) {
    ADD_FAILURE() << (set == nullptr ? "kernel set " + kernel_set + " is not supported here" : file.error().message);
    return nullptr;
  }
  auto test_model = std::make_unique<TestModel>();
  test_model->pool_ = std::make_unique<base::ThreadPool>(threads);
  std::shared_ptr<const gguf::File> shared_file = std::move(file).value();
  auto spec = model::read_network_spec(*shared_file);
  if (!spec) {
    ADD_FAILURE() << spec.error().message;
    return nullptr;
  }
  if (change) change(*spec);
  auto weights = model::load_weights(*shared_file, *spec, *set, *test_model->pool_, {});
  if (!weights) {
    ADD_FAILURE() << weights.error().message;
    return nullptr;
  }
  auto model = std::make_shared<model::Model>();
  model->kv = kv.value_or(set->kv_default);
  model->layer_kv = model::layer_kv_formats(*shared_file, *spec, model->kv);
  model->shape = model::model_shape(*shared_file, *spec, *set, model->kv);
  model->file = shared_file;
  model->kernel_set = set;
  model->spec = std::move(spec).value();
  model->weights = std::move(weights).value();
  test_model->model_ = std::move(model);
  return test_model;
}

void TestModel::run(std::span<const contract::TokenId> tokens, int64_t chunk, const Sink& sink) {
  const auto count = static_cast<int64_t>(tokens.size());
  const auto page_count = static_cast<uint32_t>((count + kernels::kPageTokens - 1) / kernels::kPageTokens);
  auto kv = engine::KvMemory::create(*model_, page_count);
  auto forward = engine::Forward::create(model_, *pool_, chunk);
  ASSERT_TRUE(kv.ok() && forward.ok());
  engine::PageTable pages;
  for (uint32_t page = 0; page < page_count; ++page) kv->append(pages, {page});
  for (int64_t begin = 0; begin < count; begin += chunk) {
    const int64_t rows = std::min(chunk, count - begin);
    const engine::Segment segment{0, rows, begin, &pages,
                                  chunk == 1 ? contract::Phase::decode : contract::Phase::prefill};
    std::vector<int64_t> wanted;
    for (int64_t row = 0; row < rows; ++row) wanted.push_back(row);
    (*forward)->run(tokens.subspan(static_cast<size_t>(begin), static_cast<size_t>(rows)), {&segment, 1}, wanted,
                    [&](size_t index, std::span<float> logits) { sink(begin + static_cast<int64_t>(index), logits); });
  }
}

std::vector<double> log_softmax(std::span<const float> logits) {
  const double best = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float logit : logits) sum += std::exp(logit - best);
  const double log_sum = best + std::log(sum);
  std::vector<double> result;
  result.reserve(logits.size());
  for (float logit : logits) result.push_back(logit - log_sum);
  return result;
}

}  // namespace takt::tests
