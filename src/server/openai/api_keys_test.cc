#include "server/openai/api_keys.h"

#include <gtest/gtest.h>

#include <sstream>

namespace takt::server {
namespace {

base::Result<ApiKeys> read(const std::string& text) {
  std::istringstream in(text);
  return ApiKeys::read(in);
}

TEST(ApiKeys, FindsWhoAsks) {
  const auto keys = read("# people\nalpha\n\n  beta batch\ngamma background\n");
  ASSERT_TRUE(keys.ok()) << keys.error().message;
  EXPECT_FALSE(keys->empty());
  const auto beta = keys->find("Bearer beta");
  ASSERT_TRUE(beta);
  EXPECT_EQ(beta->tenant, 2u);
  EXPECT_EQ(beta->default_class, contract::ServiceClass::batch);
  EXPECT_EQ(keys->find("Bearer alpha")->default_class, contract::ServiceClass::interactive);
  for (const char* wrong : {"", "Bearer ", "Bearer alph", "Bearer alphaa", "alpha", "Basic alpha", "Bearer ALPHA"})
    EXPECT_FALSE(keys->find(wrong)) << wrong;
  EXPECT_FALSE(keys->find("Bearer " + std::string(5000, 'x')));
  EXPECT_FALSE(keys->find("Bearer alpha" + std::string(300, '\0')));
}

TEST(ApiKeys, NamesTheLineAndNeverTheKey) {
  for (const char* text : {"ok\nsecret1 gold\n", "ok\nsecret1 batch more\n", "secret1\nsecret1\n"}) {
    const auto keys = read(text);
    ASSERT_FALSE(keys.ok()) << text;
    EXPECT_TRUE(keys.error().message.starts_with("line 2")) << keys.error().message;
    EXPECT_EQ(keys.error().message.find("secret1"), std::string::npos);
  }
  EXPECT_TRUE(read("")->empty());
}

}  // namespace
}  // namespace takt::server
