// The web pages as a browser gets them, without a browser (tests/browser has one).
#include <algorithm>
#include <regex>
#include <sstream>

#include "server/testing/server_fixture.h"
#include "server/web/web_files.h"

namespace takt::server {
namespace {

using WebTest = ServerTest;

TEST_F(WebTest, EveryFileWithItsTypeAndPolicy) {
  start();
  ASSERT_GT(web_files().size(), 4u);
  for (const WebFile& file : web_files()) {
    const TestReply reply = get(file.path);
    EXPECT_EQ(reply.status, 200) << file.path;
    EXPECT_EQ(reply.body, file.bytes) << file.path;
    EXPECT_EQ(reply.header("Content-Type"), file.content_type);
    EXPECT_NE(reply.header("Content-Security-Policy").find("default-src 'self'"), std::string::npos);
    EXPECT_EQ(reply.header("Content-Security-Policy").find("unsafe"), std::string::npos);
    EXPECT_EQ(reply.header("X-Content-Type-Options"), "nosniff");
    const TestReply head = get(file.path, "HEAD");
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.header("Content-Length"), std::to_string(file.bytes.size()));
    EXPECT_EQ(head.header("ETag"), file.etag);
  }
  EXPECT_EQ(get("/web/js/no.js").status, 404);
  EXPECT_EQ(get("/web/../chat.html").status, 404);
  EXPECT_EQ(post("/chat", "{}").status, 405);
}

TEST_F(WebTest, UnchangedFilesAreNotSentAgain) {
  start();
  const std::string tag(get("/chat").header("ETag"));
  ASSERT_GT(tag.size(), 2u);
  for (const std::string& known : {tag, "W/" + tag, "\"x\", " + tag, std::string("*")}) {
    const TestReply reply = get("/chat", "GET", "If-None-Match: " + known + "\r\n");
    EXPECT_EQ(reply.status, 304) << known;
    EXPECT_EQ(reply.body, "");
    EXPECT_EQ(reply.header("ETag"), tag);
    EXPECT_EQ(reply.header("Content-Length"), "");
  }
  EXPECT_EQ(get("/chat", "GET", "If-None-Match: \"x\"\r\n").status, 200);
  EXPECT_EQ(get("/", "GET", "If-None-Match: " + tag + "\r\n").status, 200);
}

TEST_F(WebTest, PagesNeedNoKeyAndTheirDataDoes) {
  ServerOptions options;
  std::istringstream keys("secret\n");
  options.keys = std::move(ApiKeys::read(keys)).value();
  start({}, std::move(options));
  for (const WebFile& file : web_files()) EXPECT_EQ(get(file.path).status, 200) << file.path;
  EXPECT_EQ(get("/v1/models").status, 401);
  EXPECT_EQ(get("/v1/models", "GET", "Authorization: Bearer secret\r\n").status, 200);
}

// What the policy would block, or what would need another server, must not be in the files at all.
TEST_F(WebTest, NothingInlineAndNothingFromElsewhere) {
  const std::regex inline_code(R"(<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:)", std::regex::icase);
  const std::regex elsewhere(R"((src|href)="(https?:)?//)", std::regex::icase);
  const std::regex unsafe(R"(innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function)");
  const std::regex reference(R"re((?:src|href)="(/web/[^"#]*)"|from "(\./[^"]*)")re");
  for (const WebFile& file : web_files()) {
    const std::string text(file.bytes);
    const bool is_page = file.content_type.starts_with("text/html");
    EXPECT_FALSE(is_page && std::regex_search(text, inline_code)) << file.path;
    EXPECT_FALSE(is_page && std::regex_search(text, elsewhere)) << file.path;
    EXPECT_FALSE(std::regex_search(text, unsafe)) << file.path;
    const std::string folder(file.path.substr(0, file.path.rfind('/')));
    for (std::sregex_iterator match(text.begin(), text.end(), reference), end; match != end; ++match) {
      const std::string wanted = (*match)[1].matched ? (*match)[1].str() : folder + (*match)[2].str().substr(1);
      const auto all = web_files();
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const WebFile& f) { return f.path == wanted; }))
          << file.path << " needs " << wanted;
    }
  }
}

}  // namespace
}  // namespace takt::server
