// What measures a model, on a synthetic one: figures are whole, sums are sums, and the counted work is what paper says.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>

#include "bench/profile.h"
#include "bench/rows.h"
#include "bench/step_work.h"
#include "gguf/synth.h"

namespace takt::apps {
namespace {

class ModelBench : public ::testing::Test {
 protected:
  void SetUp() override { load("qwen2.5-0.5b"); }

  void load(const std::string& like) {
    path_ = std::filesystem::temp_directory_path() / ("takt-bench-" + std::to_string(::getpid()) + ".gguf");
    gguf::SynthSpec spec;
    spec.like = like;
    spec.quant = "Q8_0";
    spec.is_tiny = true;
    const auto status = gguf::write_synthetic(spec, path_.string());
    ASSERT_TRUE(status.ok()) << status.error().message;
    auto file = gguf::File::open(path_.string());
    ASSERT_TRUE(file.ok());
    auto model = model::load_model(std::move(file).value(), *kernels::select_kernel_set(""), pool_);
    ASSERT_TRUE(model.ok()) << model.error().message;
    model_ = std::move(model).value();
    roofline_.ceilings = {
        {2, {{"int8_" + std::string(model_->kernel_set->name), 1e12}, {"f32_x", 1e11}, {kReadMemory, 1e10}}}};
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::filesystem::path path_;
  base::ThreadPool pool_{2};
  std::shared_ptr<const model::Model> model_;
  Roofline roofline_;
};

double linear_weights(const model::Model& model) {
  return static_cast<double>(model.shape.weights_linear + model.shape.weights_output);
}

TEST_F(ModelBench, WorkOfADecodeStep) {
  const StepWork work = work_of_decode(*model_, 99, 1);
  const model::NetworkSpec& spec = model_->spec;
  const double attention = 4.0 * spec.layer_count * spec.head_count * spec.head_dim * 100;
  const Work products = work.products();
  EXPECT_DOUBLE_EQ(products.int8_operations + products.float_operations, 2 * linear_weights(*model_) + attention);
  EXPECT_DOUBLE_EQ(work.at(engine::Operation::attention).float_operations, attention);
  EXPECT_DOUBLE_EQ(work.at(engine::Operation::attention).bytes,
                   100.0 * static_cast<double>(model_->shape.kv_bytes_per_token.count()));
  // The packed weights are the file's within a few percent.
  const double weight_bytes = products.bytes - work.at(engine::Operation::attention).bytes;
  EXPECT_NEAR(weight_bytes / static_cast<double>(model_->shape.weight_bytes.count()), 1, 0.1);
}

TEST_F(ModelBench, WorkOfAPromptDoesNotDependOnItsChunks) {
  const Work whole = work_of_prefill(*model_, 0, 96, 96).products(),
             parts = work_of_prefill(*model_, 0, 96, 32).products();
  EXPECT_DOUBLE_EQ(whole.int8_operations, parts.int8_operations);
  EXPECT_DOUBLE_EQ(whole.float_operations, parts.float_operations);
  EXPECT_GT(parts.bytes, whole.bytes);  // the weights three times
  const Work later = work_of_prefill(*model_, 96, 192, 96).products();
  EXPECT_GT(later.float_operations, whole.float_operations);
}

// Windows are where a closed formula goes wrong: a prompt's pairs are those of its rows, one by one.
TEST_F(ModelBench, WorkOfAPromptIsThatOfItsRows) {
  load("gemma3-270m");
  ASSERT_GT(model_->spec.window, 0u);
  const auto attention = [](const StepWork& work) { return work.at(engine::Operation::attention).float_operations; };
  for (const int64_t begin : {0, 5, 16, 40})
    for (const int64_t end : {begin + 1, begin + 16, begin + 60})
      EXPECT_DOUBLE_EQ(attention(work_of_prefill(*model_, begin, end, 32)),
                       attention(work_of_decode(*model_, begin, end - begin)))
          << begin << " to " << end;
}

TEST_F(ModelBench, SharesFollowFromTimeAndCeiling) {
  Ceilings ceilings;
  ceilings.int8_per_s = 1e12, ceilings.read_bytes_per_s = 1e10;
  const StepWork work = work_of_decode(*model_, 0, 1);
  const Work products = work.products();
  EXPECT_DOUBLE_EQ(mfu_percent(work, 1, ceilings), (products.int8_operations + products.float_operations) / 1e10);
  EXPECT_DOUBLE_EQ(mbu_percent(work, 2, ceilings), products.bytes / 2e8);
  EXPECT_EQ(mbu_percent(work, 2, {}), 0);
}

TEST_F(ModelBench, PartsOfAProfileSumToItsStep) {
  for (const int64_t depth : {int64_t{0}, int64_t{40}})
    for (const StepProfile& profile : measure_profile(model_, pool_, roofline_, {33, depth, 3})) {
      double sum = 0;
      for (const ProfilePart& part : profile.parts) {
        EXPECT_GE(part.us, 0) << profile.title << ", " << part.name;
        sum += part.us;
      }
      EXPECT_NEAR(sum, profile.step_us, profile.step_us * 1e-9) << profile.title;
      EXPECT_GT(profile.step_us, 0);
      EXPECT_EQ(profile.parts.size(), engine::kOperationCount + 2);
    }
}

TEST_F(ModelBench, RowsAreMeasuredAndPredicted) {
  const RowsReport report = measure_rows(model_, pool_, roofline_, {{1, 2, 5}, 7, 3, 2});
  ASSERT_EQ(report.points.size(), 3u);
  for (const RowsPoint& point : report.points) {
    EXPECT_EQ(point.step_us.size(), 6u);
    EXPECT_GT(point.tokens_per_s, 0);
    EXPECT_GT(point.predicted_tokens_per_s, 0);
  }
  EXPECT_GT(report.knee_predicted, 0);
  const std::string svg = rows_svg(report);
  EXPECT_EQ(svg.rfind("<svg", 0), 0u);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
  EXPECT_NE(rows_json(report).find("\"rows\":5"), std::string::npos);
}

TEST(Knee, TheBestSpeedOverThatOfOneRow) {
  const auto point = [](int64_t rows, double speed) { return RowsPoint{rows, {}, 0, speed, 0, 0, 0}; };
  EXPECT_DOUBLE_EQ(measured_knee({point(1, 10), point(4, 40), point(8, 50), point(16, 45)}), 5);
  EXPECT_DOUBLE_EQ(measured_knee({point(1, 10)}), 1);
  EXPECT_EQ(measured_knee({point(2, 10), point(4, 20)}), 0);
}

}  // namespace
}  // namespace takt::apps
