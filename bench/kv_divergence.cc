// kv_divergence MODEL IDS.json… [--kernels NAME] [--chunk N] [--every N]
// How far each KV format moves the next-token distribution: KL(f16 || format) in nats over the whole vocabulary, at every N-th position of
// token sequences (JSON: a list of ids, or an object with "ids"). With 8-bit activations (quantised files) any change of the last bit moves
// roundings elsewhere, so that even bf16 shows a floor of some 0.001; a file whose weights are stored as float shows the format alone.
#include <boost/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "base/kv_format.h"
#include "engine/forward.h"
#include "engine/kv_memory.h"
#include "model/arch/architecture.h"
#include "model/model.h"

using namespace takt;

namespace {

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "kv_divergence: %s\n", message.c_str());
  std::exit(1);
}

std::vector<contract::TokenId> read_ids(const std::string& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  boost::system::error_code error;
  boost::json::value json = boost::json::parse(text.str(), error);
  if (error) fail(path + ": " + error.message());
  if (const auto* object = json.if_object()) {
    const auto* ids = object->if_contains("ids");
    if (ids == nullptr) fail(path + ": no \"ids\"");
    json = boost::json::value(*ids);
  }
  if (!json.is_array() || json.as_array().empty()) fail(path + ": expected a list of token ids");
  std::vector<contract::TokenId> ids;
  for (const auto& id : json.as_array()) ids.push_back(static_cast<contract::TokenId>(id.to_number<int64_t>()));
  return ids;
}

// Calls sink(position, logits) for every `every`-th position.
template <class Sink>
void run(const std::shared_ptr<const model::Model>& model, base::ThreadPool& pool,
         const std::vector<contract::TokenId>& ids, int64_t chunk, int64_t every, const Sink& sink) {
  const auto count = static_cast<int64_t>(ids.size());
  const auto page_count = static_cast<uint32_t>((count + kernels::kPageTokens - 1) / kernels::kPageTokens);
  auto kv = engine::KvMemory::create(*model, page_count);
  auto forward = engine::Forward::create(model, pool, chunk);
  if (!kv || !forward) fail("out of memory");
  engine::PageTable pages;
  for (uint32_t page = 0; page < page_count; ++page) kv->append(pages, {page});
  for (int64_t begin = 0; begin < count; begin += chunk) {
    const int64_t rows = std::min(chunk, count - begin);
    const engine::Segment segment{0, rows, begin, &pages,
                                  chunk == 1 ? contract::Phase::decode : contract::Phase::prefill};
    std::vector<int64_t> wanted;
    for (int64_t row = 0; row < rows; ++row)
      if ((begin + row) % every == 0) wanted.push_back(row);
    (*forward)->run(std::span(ids).subspan(static_cast<size_t>(begin), static_cast<size_t>(rows)), {&segment, 1},
                    wanted, [&](size_t index, std::span<float> logits) { sink(begin + wanted[index], logits); });
  }
}

double log_sum_exp(std::span<const float> logits) {
  const float most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float logit : logits) sum += std::exp(logit - most);
  return static_cast<double>(most) + std::log(sum);
}

double divergence(std::span<const float> p, std::span<const float> q) {
  const double log_p = log_sum_exp(p), log_q = log_sum_exp(q);
  double kl = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double logprob = static_cast<double>(p[i]) - log_p;
    if (logprob > -25) kl += std::exp(logprob) * (logprob - (static_cast<double>(q[i]) - log_q));
  }
  return kl;
}

struct Options {
  std::string model_path, set_name;
  std::vector<std::string> texts;
  int64_t chunk = 512, every = 1;
};

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--kernels" && i + 1 < argc)
      options.set_name = argv[++i];
    else if (argument == "--chunk" && i + 1 < argc)
      options.chunk = std::max(1, std::atoi(argv[++i]));
    else if (argument == "--every" && i + 1 < argc)
      options.every = std::max(1, std::atoi(argv[++i]));
    else if (options.model_path.empty())
      options.model_path = argument;
    else
      options.texts.push_back(argument);
  }
  if (options.texts.empty()) fail("usage: kv_divergence MODEL IDS.json… [--kernels NAME] [--chunk N] [--every N]");
  return options;
}

struct Row {
  base::KvFormats kv;
  double sum = 0, most = 0;
  int64_t positions = 0, same_best = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  using base::KvFormat;
  std::vector<Row> rows;
  for (base::KvFormats kv : {base::KvFormats{KvFormat::bf16, KvFormat::bf16},
                             {KvFormat::q8_0, KvFormat::f16},
                             {KvFormat::f16, KvFormat::q8_0},
                             {KvFormat::q8_0, KvFormat::q8_0},
                             {KvFormat::f16, KvFormat::q4},
                             {KvFormat::q8_0, KvFormat::q4}})
    rows.push_back({kv});
  base::ThreadPool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  const kernels::KernelSet* set = kernels::select_kernel_set(options.set_name);
  auto opened = gguf::File::open(options.model_path);
  if (set == nullptr || !opened) fail(set == nullptr ? "--kernels " + options.set_name + "?" : opened.error().message);
  const std::shared_ptr<const gguf::File> file = std::move(opened).value();
  std::vector<std::vector<contract::TokenId>> sequences;
  for (const std::string& path : options.texts) sequences.push_back(read_ids(path));
  // Positions are numbered through all sequences.
  const auto run_all = [&](base::KvFormats kv, const auto& sink) {
    auto model = model::load_model(file, *set, pool, {}, kv);
    if (!model) return false;  // not with this head size
    int64_t first = 0;
    for (const auto& ids : sequences) {
      run(*model, pool, ids, options.chunk, options.every,
          [&](int64_t position, std::span<float> logits) { sink(static_cast<size_t>(first + position), logits); });
      first += static_cast<int64_t>(ids.size());
    }
    return true;
  };
  std::map<size_t, std::vector<float>> expected;
  if (!run_all({}, [&](size_t at, std::span<float> logits) { expected[at].assign(logits.begin(), logits.end()); }))
    fail(options.model_path + ": cannot be loaded");
  for (Row& row : rows) {
    run_all(row.kv, [&](size_t at, std::span<float> logits) {
      const auto& p = expected.at(at);
      const double kl = divergence(p, logits);
      row.sum += kl;
      row.most = std::max(row.most, kl);
      row.positions += 1;
      row.same_best += std::max_element(p.begin(), p.end()) - p.begin() ==
                       std::max_element(logits.begin(), logits.end()) - logits.begin();
    });
  }
  const auto spec = model::read_network_spec(*file);
  if (!spec) fail(spec.error().message);
  std::printf(
      "| keys | values | bytes a token | mean KL | largest | same best token | positions "
      "|\n|---|---|---|---|---|---|---|\n");
  for (const Row& row : rows) {
    const auto shape = model::model_shape(*file, *spec, *set, row.kv);
    std::printf("| %s | %s | %lld | %.6f | %.4f | %.2f %% | %lld |\n",
                std::string(base::kv_format_name(row.kv.keys)).c_str(),
                std::string(base::kv_format_name(row.kv.values)).c_str(),
                static_cast<long long>(shape.kv_bytes_per_token.count()),
                row.sum / static_cast<double>(std::max<int64_t>(1, row.positions)), row.most,
                100.0 * static_cast<double>(row.same_best) / static_cast<double>(std::max<int64_t>(1, row.positions)),
                static_cast<long long>(row.positions));
    std::fflush(stdout);
  }
}
