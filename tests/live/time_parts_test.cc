// Where each microsecond of a request went, in a random mixed run of the real engine on a tiny model: the sums are exact.
#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "support/live_session.h"
#include "support/tiny_model.h"

namespace takt::tests {
namespace {

void check(const CollectingSink& sink) {
  const contract::RequestTimes& times = sink.times;
  ASSERT_TRUE(times.finished.has_value());
  base::Micros sum;
  for (const contract::TimeParts& parts : sink.parts) {
    for (const base::Micros part : parts.micros) EXPECT_GE(part.count(), 0);
    base::Micros caused;
    for (const auto& cause : parts.causes) caused += cause.micros;
    EXPECT_EQ(caused, parts[contract::TimePart::other_prefill]);
    sum += parts.total();
  }
  EXPECT_EQ(sum, *times.finished - times.submitted);
  if (!times.first_token || sink.tokens.empty()) return;
  EXPECT_EQ(sink.parts[0].total(), *times.first_token - times.submitted);
}

TEST(TimeParts, SumToEveryRequestsTimeInARandomRun) {
  const uint64_t seed = std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  const TinyModelFile file("qwen2.5-0.5b", "Q4_K_M");
  const auto model = TestModel::load(file.path(), "", 1);
  contract::Capacity capacity;
  capacity.page_count = 24;  // enough for one request, too few for all
  capacity.context_tokens = 512;
  capacity.step_tokens_max = 64;
  capacity.rows_max = 8;
  capacity.chunk_tokens_beside_decode = 32;
  LiveSession session(model->shared_model(), 1, capacity);
  std::vector<std::shared_ptr<CollectingSink>> sinks;
  std::vector<contract::RequestId> ids(24);
  const auto submit = [&](size_t i) {
    contract::GenerationSpec spec;
    spec.sampling.temperature = 0;
    auto prompt = random_tokens(random(), 1 + random() % 300, model->model().spec.vocabulary_size);
    sinks.push_back(
        session.submit(std::move(prompt), 1 + static_cast<int64_t>(random() % 60), std::move(spec), &ids[i]));
  };
  for (size_t i = 0; i < 12; ++i) submit(i);
  session.world().cancel(ids[7]);
  session.start();
  for (size_t i = 12; i < ids.size(); ++i) {
    sinks[random() % i]->wait_for_tokens(1 + random() % 8);
    submit(i);
    if (random() % 4 == 0) session.world().cancel(ids[random() % i]);
  }
  contract::TimeParts all;
  for (const auto& sink : sinks) {
    sink->wait();
    check(*sink);
    for (const contract::TimeParts& parts : sink->parts) all.add(parts);
  }
  using enum contract::TimePart;
  for (const contract::TimePart part : {own_compute, other_decode, other_prefill, queue, sampling, host})
    EXPECT_GT(all[part].count(), 0) << contract::name(part);
}

}  // namespace
}  // namespace takt::tests
