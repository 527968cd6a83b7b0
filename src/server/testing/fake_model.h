// A model for tests of the server: real sockets and real text in front, a scripted loop behind. Bytes are tokens.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "contract/serving_port.h"
#include "server/server.h"
#include "text/tokenizer.h"

namespace takt::server {

// A prompt with "say:…" (to the line's end) is answered with that text, byte by byte, and an end token. Any other is answered with
// letters that depend on seed, choice and position only (on the position only at temperature 0), without end.
class FakeModel final : public contract::ServingPort {
 public:
  struct Options {
    uint32_t context_tokens = 4096;
    std::optional<base::Micros> predicted_ttft = std::nullopt;
    size_t requests_max = 64;  // running and waiting: queue_full above
    std::chrono::microseconds step_interval{0};
    std::string extra_text = {};  // put behind every token's text, to make outputs large
    bool fails = false;           // every request ends with FinishReason::error
  };
  explicit FakeModel(Options options);
  ~FakeModel() override;

  base::Result<contract::Acceptance> submit(contract::Submission submission) override;
  void cancel(contract::RequestId id) override;
  contract::Bounds bounds() const override;
  base::Micros now() const override;
  void listen(contract::StepListener* listener) override;

  ServedModel served();
  // No step is made while held.
  void hold(bool is_held);
  size_t cancelled_count() const { return cancelled_count_; }
  size_t running_count() const;
  contract::Sampling last_sampling() const;
  contract::Request last_request() const;

 private:
  struct Entry {
    contract::Request request;
    contract::GenerationSpec spec;
    std::shared_ptr<contract::OutputSink> sink;
    contract::RequestTimes times;
    std::string script;
    std::optional<base::Micros> accounted;  // up to here by since_last
    bool has_script = false;
    bool is_cancelled = false;
  };
  void run();
  void step();
  // True when the request has ended.
  bool advance(Entry& entry);
  contract::TokenId next_token(const Entry& entry) const;

  const Options options_;
  const std::chrono::steady_clock::time_point origin_ = std::chrono::steady_clock::now();
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  mutable std::mutex mutex_;
  std::condition_variable event_;
  std::map<uint64_t, Entry> entries_;
  contract::StepListener* listener_ = nullptr;
  uint64_t steps_ = 0;
  uint64_t next_id_ = 1;
  bool is_held_ = false;
  bool is_stopped_ = false;
  contract::Sampling last_sampling_;
  contract::Request last_request_;
  std::atomic<size_t> cancelled_count_{0};
  std::thread thread_;
};

}  // namespace takt::server
