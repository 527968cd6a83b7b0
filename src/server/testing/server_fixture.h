// A server with a fake model on a free port, and JSON shorthands.
#pragma once

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "server/server.h"
#include "server/testing/fake_model.h"
#include "server/testing/http_test_client.h"

namespace takt::server {

// Fails the test and gives null when it is not valid JSON (strict: no invalid UTF-8).
inline boost::json::value parsed(std::string_view text) {
  boost::json::error_code error;
  boost::json::value value = boost::json::parse(boost::json::string_view(text.data(), text.size()), error);
  EXPECT_FALSE(error) << text;
  return error ? boost::json::value() : value;
}

inline std::string text_of(const boost::json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : "NOT A STRING";
}

// Polls until the condition holds; false after the time.
inline bool becomes_true(const std::function<bool()>& condition, int timeout_ms = 5000) {
  for (int waited = 0; waited < timeout_ms; ++waited) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

class ServerTest : public testing::Test {
 protected:
  void start(FakeModel::Options model_options = {}, ServerOptions options = {}) {
    model_ = std::make_unique<FakeModel>(std::move(model_options));
    options.port = 0;
    auto started = HttpServer::start(std::move(options));
    ASSERT_TRUE(started.ok());
    server_ = std::move(*started);
    server_->serve(model_->served());
  }
  ~ServerTest() override {
    server_.reset();
    model_.reset();
  }

  TestReply post(std::string_view path, std::string_view body, std::string_view headers = "") {
    return server::post(server_->port(), path, body, headers);
  }
  TestReply get(std::string_view path, std::string_view method = "GET", std::string_view headers = "") {
    return server::get(server_->port(), path, method, headers);
  }
  // The error object's field of a reply, or what the reply was instead.
  static std::string error_field(const TestReply& reply, const char* field) {
    const boost::json::value value = parsed(reply.body);
    const auto* object = value.is_object() ? value.get_object().if_contains("error") : nullptr;
    if (object == nullptr) return "NO ERROR: " + reply.body;
    const boost::json::value& found = object->at(field);
    return found.is_null() ? "null" : text_of(found);
  }

  std::unique_ptr<FakeModel> model_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace takt::server
