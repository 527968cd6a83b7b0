// One request to generate text, from submission to the end of its reply.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/http/exchange.h"
#include "server/metrics/server_metrics.h"
#include "server/openai/backend.h"
#include "server/openai/generation_reply.h"
#include "server/openai/generation_request.h"
#include "server/openai/output_queue.h"
#include "server/openai/write_clock.h"

namespace takt::server {

// A request with its prompts as token ids.
struct PreparedGeneration {
  GenerationRequest request;
  std::vector<std::shared_ptr<const std::vector<contract::TokenId>>> prompts;  // none is empty
  std::vector<std::string> echo_texts;                                         // one per prompt when request.echo
};

// Submits one request per choice, gathers what they produce and writes the reply, whole or as a stream. All on the connection's
// strand. Keeps itself alive until the last choice ended or the client went away; then the choices still running are cancelled.
class GenerationJob final : public std::enable_shared_from_this<GenerationJob>, private OutputReceiver {
 public:
  GenerationJob(std::shared_ptr<Exchange> exchange, std::shared_ptr<const Backend> backend,
                std::shared_ptr<ServerMetrics> metrics, PreparedGeneration prepared);

  void start();

 private:
  struct Choice {
    size_t prompt_index = 0;
    contract::RequestId request;
    std::shared_ptr<OutputQueue> queue;                   // null before submission and after the end
    bool has_begun = false;                               // a stream: the role or the echoed prompt was written
    std::string text;                                     // whole replies only
    size_t text_characters = 0;                           // of the tokens so far, for text_offset
    std::vector<contract::TokenOutput> prompt_positions;  // until the echoed prompt is written
    std::vector<contract::TokenOutput> tokens;            // with log-probabilities; whole replies only
    contract::FinishReason finish = contract::FinishReason::none;
    contract::RequestTimes times;
    std::optional<RequestTrace> parts;  // at its end, when the timings are to have them
  };

  std::optional<base::Error> submit(size_t index);
  void show_to_watchers(size_t index);
  void refuse(const base::Error& error, size_t prompt_index);
  void on_output(size_t index, contract::RequestOutput output, const contract::RequestTimes& times) override;
  void on_overflow() override;
  void on_timeout();
  void stream_output(size_t index, const contract::RequestOutput& output);
  std::string stream_beginning(size_t index);
  void fail(const ApiError& error);
  void finish();
  void finish_stream();
  void stop_choices();
  std::vector<contract::TokenOutput> echoed_tokens(const Choice& choice) const;
  bool is_chat() const { return prepared_.request.endpoint == Endpoint::chat; }
  Usage usage() const;

  const std::shared_ptr<Exchange> exchange_;
  const std::shared_ptr<const Backend> backend_;
  const std::shared_ptr<ServerMetrics> metrics_;
  PreparedGeneration prepared_;
  ReplyHead head_;
  std::vector<Choice> choices_;
  size_t running_count_ = 0;
  std::shared_ptr<WriteClock> write_clock_;
};

}  // namespace takt::server
