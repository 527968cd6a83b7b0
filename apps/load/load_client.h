// Talks to an OpenAI-compatible server: many streamed requests at once, all on the thread that calls run().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "load/reply.h"

namespace takt::apps {

struct LoadTarget {
  std::string host;
  uint16_t port = 80;
  std::string base_path;  // what stands before /v1, without a slash at its end
  std::string model = "default";
  std::string api_key;
  bool is_chat = false;  // /v1/chat/completions instead of /v1/completions
  bool is_plain =
      false;  // only fields that OpenAI's own API has: answers may then end early, and tokens of a chunk are not counted
  std::chrono::seconds timeout{600};  // of a request, from its scheduled time
};

// "http://127.0.0.1:8080", with or without a path or "/v1" at its end. Errors: invalid_argument.
base::Result<LoadTarget> parse_url(const std::string& url);

struct LoadRequest {
  // What was said, from the first turn on, user and assistant in turn. Completions get it as one text.
  std::vector<std::string> messages;
  uint32_t output_tokens = 1;
  std::string service_class;  // empty: not sent
};

// The JSON body of a streamed request.
std::string request_body(const LoadTarget& target, const LoadRequest& request);

class LoadClient {
 public:
  using OnEnd = std::function<void(const Reply&)>;
  using OnChunk = std::function<void(const Reply&)>;

  // Resolves the host. Errors: io.
  static base::Result<std::unique_ptr<LoadClient>> connect(const LoadTarget& target);
  virtual ~LoadClient() = default;

  // Since the client was made.
  virtual base::Micros now() const = 0;
  // Sends at `scheduled`, at once when that has passed. on_chunk is called after each chunk with content, on_end once.
  virtual uint64_t send(LoadRequest request, base::Micros scheduled, OnEnd on_end, OnChunk on_chunk = {}) = 0;
  // Hangs up, if the request has not ended; on_end is called all the same.
  virtual void cancel(uint64_t id) = 0;
  virtual void call_at(base::Micros at, std::function<void()> call) = 0;
  // Returns when every request has ended and every call was made.
  virtual void run() = 0;
};

}  // namespace takt::apps
