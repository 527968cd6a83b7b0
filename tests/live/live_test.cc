// Requests through the real scheduler, engine and loop on a tiny model: limits, cancels, refusals, and the proof that a recorded run
// replays.
#include <gtest/gtest.h>

#include <chrono>
#include <sstream>
#include <thread>

#include "scheduler/scheduler.h"
#include "support/live_session.h"
#include "support/tiny_model.h"
#include "worlds/recorder.h"
#include "worlds/replay.h"

namespace takt::tests {
namespace {

class Live : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    file_ = new TinyModelFile("qwen2.5-0.5b", "Q4_K_M");
    model_ = TestModel::load(file_->path(), "", 1).release();
  }
  static void TearDownTestSuite() {
    delete model_;
    delete file_;
  }
  static contract::Capacity capacity() {
    contract::Capacity capacity;
    capacity.page_count = 256;
    capacity.context_tokens = 512;
    capacity.step_tokens_max = 64;
    capacity.rows_max = 32;
    capacity.chunk_tokens_beside_decode = 32;
    return capacity;
  }
  static contract::GenerationSpec greedy() {
    contract::GenerationSpec spec;
    spec.sampling.temperature = 0;
    return spec;
  }
  static std::vector<contract::TokenId> prompt(uint64_t seed, size_t count) {
    return random_tokens(seed, count, model_->model().spec.vocabulary_size);
  }

  static inline TinyModelFile* file_ = nullptr;
  static inline TestModel* model_ = nullptr;
};

TEST_F(Live, ExactlyAsManyTokensAsAskedFor) {
  LiveSession session(model_->shared_model(), 1, capacity());
  session.start();
  for (int64_t count : {0, 1, 2, 31, 33}) {
    auto sink = session.submit(prompt(1, 33), count, greedy());
    sink->wait();
    EXPECT_EQ(sink->tokens.size(), static_cast<size_t>(count));
    EXPECT_EQ(sink->finish, contract::FinishReason::length);
    EXPECT_EQ(sink->ends, 1);
    EXPECT_EQ(sink->times.output_tokens.count(), count);
    ASSERT_TRUE(sink->times.first_scheduled && sink->times.first_token && sink->times.finished);
    EXPECT_LE(*sink->times.first_scheduled, *sink->times.first_token);
    EXPECT_LE(*sink->times.first_token, *sink->times.finished);
  }
}

TEST_F(Live, OutputEndsWhereTheContextEnds) {
  LiveSession session(model_->shared_model(), 1, capacity());
  session.start();
  auto sink = session.submit(prompt(2, 500), 1 << 20, greedy());
  sink->wait();
  EXPECT_EQ(sink->finish, contract::FinishReason::length);
  // The last token needs no position: it is never fed.
  EXPECT_GE(sink->tokens.size(), 12u);
  EXPECT_LE(sink->tokens.size(), 13u);
}

TEST_F(Live, RefusalsNameTheNumbersAndLeaveOthersAlone) {
  LiveSession session(model_->shared_model(), 1, capacity());
  session.start();
  auto neighbour = session.submit(prompt(3, 40), 50, greedy());
  const auto refuse = [&](std::vector<contract::TokenId> tokens) {
    contract::Submission submission;
    submission.request.prompt = std::make_shared<std::vector<contract::TokenId>>(std::move(tokens));
    submission.request.output_tokens_max = base::Tokens(4);
    submission.sink = std::make_shared<CollectingSink>();
    auto result = session.world().submit(std::move(submission));
    EXPECT_FALSE(result.ok());
    return result.ok() ? base::Error{} : result.error();
  };
  const base::Error too_long = refuse(prompt(4, 513));
  EXPECT_EQ(too_long.code, base::ErrorCode::exceed_context_size);
  EXPECT_NE(too_long.message.find("513"), std::string::npos) << too_long.message;
  EXPECT_NE(too_long.message.find("512"), std::string::npos) << too_long.message;
  EXPECT_EQ(refuse({1, 2, 1 << 30}).code, base::ErrorCode::invalid_argument);
  EXPECT_EQ(refuse({1, -1}).code, base::ErrorCode::invalid_argument);
  EXPECT_EQ(refuse({}).code, base::ErrorCode::invalid_argument);
  neighbour->wait();
  EXPECT_EQ(neighbour->tokens.size(), 50u);
}

TEST_F(Live, CancelFreesTheRowAndNeighboursKeepTheirBits) {
  std::string alone;
  {
    LiveSession session(model_->shared_model(), 1, capacity());
    session.start();
    auto sink = session.submit(prompt(5, 70), 60, greedy());
    sink->wait();
    alone = fingerprint(*sink);
  }
  // Victims that would go on for long: none ends by itself before it is cancelled.
  contract::Capacity roomy = capacity();
  roomy.context_tokens = 8192;
  roomy.page_count = 2048;
  LiveSession session(model_->shared_model(), 1, roomy);
  session.start();
  std::vector<std::pair<contract::RequestId, std::shared_ptr<CollectingSink>>> victims(6);
  for (size_t i = 0; i < victims.size(); ++i)
    victims[i].second = session.submit(prompt(10 + i, 100 + i * 40), 7000, greedy(), &victims[i].first);
  auto survivor = session.submit(prompt(5, 70), 60, greedy());
  // At different stages: queued or in prefill, and after some tokens.
  session.world().cancel(victims[5].first);
  victims[0].second->wait_for_tokens(3);
  for (size_t i = 0; i < 5; ++i) session.world().cancel(victims[i].first);
  session.world().cancel(victims[0].first);             // twice
  session.world().cancel(contract::RequestId{987654});  // never there
  survivor->wait();
  EXPECT_EQ(fingerprint(*survivor), alone);
  for (auto& [id, sink] : victims) {
    sink->wait();
    EXPECT_EQ(sink->finish, contract::FinishReason::cancelled);
    EXPECT_EQ(sink->ends, 1);
  }
  const contract::Bounds bounds = session.world().bounds();
  EXPECT_EQ(bounds.pages_used, 0u);
  EXPECT_EQ(bounds.decoding_requests + bounds.prefilling_requests + bounds.waiting_requests, 0u);
}

TEST_F(Live, DrainFinishesWhatRunsAndRefusesTheRest) {
  LiveSession session(model_->shared_model(), 1, capacity());
  session.start();
  auto running = session.submit(prompt(6, 40), 40, greedy());
  session.world().drain();
  contract::Submission late;
  late.request.prompt = std::make_shared<std::vector<contract::TokenId>>(4, 1);
  late.sink = std::make_shared<CollectingSink>();
  auto refused = session.world().submit(std::move(late));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::ErrorCode::shutting_down);
  running->wait();
  EXPECT_EQ(running->tokens.size(), 40u);
}

TEST_F(Live, ForcedTokensReportTheDistributionOfPrefill) {
  LiveSession session(model_->shared_model(), 1, capacity());
  session.start();
  const auto tokens = prompt(7, 50);
  contract::GenerationSpec prefill = greedy();
  prefill.prompt_top_logprobs = 3;
  auto whole = session.submit(tokens, 1, std::move(prefill));
  contract::GenerationSpec decode = greedy();
  decode.top_logprobs = 3;
  decode.forced_tokens.assign(tokens.begin() + 1, tokens.end());
  auto forced = session.submit({tokens[0]}, static_cast<int64_t>(tokens.size()), std::move(decode));
  whole->wait();
  forced->wait();
  ASSERT_EQ(whole->prompt_positions.size(), tokens.size());
  ASSERT_EQ(forced->tokens.size(), tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    ASSERT_EQ(whole->prompt_positions[i].top.size(), 3u);
    for (size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(whole->prompt_positions[i].top[rank].id, forced->tokens[i].top[rank].id);
      EXPECT_EQ(whole->prompt_positions[i].top[rank].logprob, forced->tokens[i].top[rank].logprob);
    }
    if (i + 1 < tokens.size()) {
      EXPECT_EQ(whole->prompt_positions[i].logprob, forced->tokens[i].logprob);
    }
  }
  EXPECT_EQ(forced->tokens.back().id, whole->tokens[0].id);
}

TEST_F(Live, ARecordedRunReplaysByteForByte) {
  std::stringstream record;
  {
    contract::Capacity small = capacity();
    small.page_count = 24;  // enough for one request, too few for all: preemptions are in the record
    LiveSession session(model_->shared_model(), 1, small, [&](contract::SchedulerPort& inner) {
      return std::make_unique<worlds::RecordingScheduler>(inner, small, contract::ServicePolicy(), record);
    });
    std::vector<std::shared_ptr<CollectingSink>> sinks;
    std::vector<contract::RequestId> ids(12);
    for (size_t i = 0; i < ids.size(); ++i) {
      sinks.push_back(session.submit(prompt(20 + i, 10 + i * 17), 30 + static_cast<int64_t>(i), greedy(), &ids[i]));
    }
    session.world().cancel(ids[7]);  // while it waits: certain to be recorded
    session.start();
    sinks[2]->wait_for_tokens(2);
    session.world().cancel(ids[10]);  // wherever it is by now
    sinks[4]->wait_for_tokens(2);
    session.submit(prompt(40, 90), 20, greedy())->wait();  // a newcomer in the middle
    for (auto& sink : sinks) sink->wait();
  }
  auto report = worlds::replay(record, scheduler::make_scheduler);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->is_identical()) << "line " << report->first_difference->line << "\nrecorded "
                                      << report->first_difference->recorded << "\nreplayed "
                                      << report->first_difference->replayed;
  EXPECT_EQ(report->submits, 13u);
  EXPECT_GE(report->cancels, 1u);
  EXPECT_GT(report->steps, 20u);
}

}  // namespace
}  // namespace takt::tests
