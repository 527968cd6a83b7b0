#include "worlds/sim/trace_files.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace takt::worlds {
namespace {

constexpr const char* kAzureHead = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n";

base::Result<std::vector<Arrival>> azure(const std::string& lines) {
  std::istringstream in(kAzureHead + lines);
  return parse_azure_csv(in);
}

base::Result<std::vector<Arrival>> mooncake(const std::string& lines) {
  std::istringstream in(lines);
  return parse_mooncake_jsonl(in);
}

std::string error_of(const base::Result<std::vector<Arrival>>& parsed) {
  return parsed.ok() ? "no error" : parsed.error().message;
}

TEST(AzureTrace, CountsTimeFromTheFirstLine) {
  const auto arrivals = azure("2023-11-16 23:59:59.9000000,374,44\r\n2023-11-17 00:00:01.0000019,1,109\r\n");
  ASSERT_TRUE(arrivals.ok()) << arrivals.error().message;
  ASSERT_EQ(arrivals->size(), 2u);
  EXPECT_EQ((*arrivals)[0].at.count(), 0);
  EXPECT_EQ((*arrivals)[0].prompt_tokens, 374u);
  EXPECT_EQ((*arrivals)[0].output_tokens, 44u);
  EXPECT_EQ((*arrivals)[1].at.count(), 1'100'001) << "over midnight, below a microsecond cut off";
  EXPECT_EQ((*arrivals)[1].output_tokens_max, 109u);
}

TEST(AzureTrace, NamesTheLineThatIsWrong) {
  EXPECT_EQ(error_of(azure("2023-11-16 18:15:46.68,374,44\nfoo,1,2\n")),
            "line 3: a time like 2023-11-16 18:15:46.6805900 expected");
  EXPECT_EQ(error_of(azure("2023-13-16 18:15:46,374,44\n")),
            "line 2: a time like 2023-11-16 18:15:46.6805900 expected");
  EXPECT_EQ(error_of(azure("2023-02-30 18:15:46,374,44\n")),
            "line 2: a time like 2023-11-16 18:15:46.6805900 expected");
  EXPECT_EQ(error_of(azure("2023-11-16 18:15:46,0,44\n")), "line 2: ContextTokens is not a whole number from 1 on");
  EXPECT_EQ(error_of(azure("2023-11-16 18:15:46,12\n")), "line 2: GeneratedTokens is not a whole number from 1 on");
  EXPECT_EQ(error_of(azure("2023-11-16 18:15:46,12,99999999999999999999\n")),
            "line 2: GeneratedTokens is not a whole number from 1 on");
  EXPECT_EQ(error_of(azure("2023-11-16 18:15:46,12,4,5\n")), "line 2: the end of the line expected");
  EXPECT_EQ(error_of(azure("2023-11-16 18:15:46,12,4\n2023-11-16 18:15:45,12,4\n")),
            "line 3: the time is before that of the line above");
  EXPECT_EQ(error_of(azure("\n")), "line 2: a time like 2023-11-16 18:15:46.6805900 expected");
  std::istringstream in("TIMESTAMP\n");
  EXPECT_EQ(error_of(parse_azure_csv(in)), "line 1: 'TIMESTAMP,ContextTokens,GeneratedTokens' expected");
}

TEST(MooncakeTrace, EqualHashesAreEqualTokens) {
  const auto arrivals =
      mooncake(R"({"timestamp": 0, "input_length": 1300, "output_length": 500, "hash_ids": [0, 1, 2]})"
               "\n"
               R"({"hash_ids":[0,1,3],"output_length":0,"input_length":1025,"timestamp":27})"
               "\n");
  ASSERT_TRUE(arrivals.ok()) << arrivals.error().message;
  ASSERT_EQ(arrivals->size(), 2u);
  EXPECT_EQ((*arrivals)[1].at.count(), 27'000);
  EXPECT_EQ((*arrivals)[1].output_tokens, 1u);
  const auto a = make_prompt((*arrivals)[0], 1), b = make_prompt((*arrivals)[1], 2);
  ASSERT_EQ(a->size(), 1300u);
  ASSERT_EQ(b->size(), 1025u);
  for (size_t i = 0; i < 1024; ++i) ASSERT_EQ((*a)[i], (*b)[i]) << "position " << i;
  EXPECT_NE((*a)[1024], (*b)[1024]);
  EXPECT_NE((*a)[0], (*a)[512]) << "blocks of other names have other tokens";
}

TEST(MooncakeTrace, NamesTheLineThatIsWrong) {
  const std::string good = "{\"timestamp\": 5, \"input_length\": 10, \"output_length\": 1, \"hash_ids\": [7]}\n";
  EXPECT_EQ(error_of(mooncake(good + "\n")), "line 2: '{' expected");
  EXPECT_EQ(error_of(mooncake(good + "{\"timestamp\": 5}\n")), "line 2: input_length is missing");
  EXPECT_EQ(error_of(mooncake("{\"timestamp\": -5}\n")), "line 1: timestamp is not a whole number from 0 on");
  EXPECT_EQ(error_of(mooncake("{\"timestamp\": 5, \"timestamp\": 6}\n")), "line 1: timestamp occurs twice");
  EXPECT_EQ(error_of(mooncake("{\"a\": 5}\n")),
            "line 1: a field expected: timestamp, input_length, output_length or hash_ids");
  EXPECT_EQ(error_of(mooncake("{\"timestamp\": 5, \"input_length\": 513, \"output_length\": 1, \"hash_ids\": [7]}\n")),
            "line 1: 1 hash_ids, but 513 tokens are 2 blocks of 512");
  EXPECT_EQ(error_of(mooncake("{\"timestamp\": 5, \"input_length\": 0, \"output_length\": 1, \"hash_ids\": []}\n")),
            "line 1: input_length is not in [1, 16777216]");
  EXPECT_EQ(error_of(mooncake("{\"hash_ids\": [1, x]}\n")), "line 1: hash_ids is not a list of numbers");
  EXPECT_EQ(error_of(mooncake(good.substr(0, good.size() - 1) + " x\n")), "line 1: the end of the line expected");
}

TEST(Prompt, UnknownOnesAreLikeNoOther) {
  Arrival arrival;
  arrival.prompt_tokens = 3;
  EXPECT_EQ(make_prompt(arrival, 5)->size(), 3u);
  EXPECT_NE((*make_prompt(arrival, 5))[0], (*make_prompt(arrival, 6))[0]);
}

}  // namespace
}  // namespace takt::worlds
