#include "load/load_run.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "worlds/sim/traffic.h"

namespace takt::apps {
namespace {

constexpr uint32_t kWordsLess = 8, kWordsMore = 72;         // apart enough that a token more or less does not matter
constexpr base::Micros kFirstSend = base::Micros(100'000);  // time to get ready, so that the first request is not late

// One plan in progress. Everything happens on the client's thread.
class PlanRun {
 public:
  PlanRun(LoadSession& session, const LoadPlan& plan) : session_(session), plan_(plan) {
    for (const PlannedConversation& conversation : plan) total_ += conversation.turns.size();
  }

  std::vector<LoadRecord> open() {
    const base::Micros begin = session_.client.now() + kFirstSend;
    for (const PlannedConversation& conversation : plan_) start(conversation, begin + conversation.at, [](auto) {});
    session_.client.run();
    return std::move(records_);
  }

  std::vector<LoadRecord> closed(uint32_t clients) {
    const base::Micros begin = session_.client.now() + kFirstSend;
    for (uint32_t i = 0; i < clients; ++i) take_next(begin);
    session_.client.run();
    return std::move(records_);
  }

 private:
  using OnEnd = std::function<void(base::Micros)>;
  struct Talk {
    const PlannedConversation& plan;
    OnEnd on_end;
    size_t turn = 0;
    uint32_t said_tokens = 0;  // by plan
    std::vector<std::string> messages = {};
  };

  void take_next(base::Micros at) {
    if (next_ == plan_.size()) return;
    const PlannedConversation& conversation = plan_[next_++];
    start(conversation, at,
          [this, &conversation](base::Micros ended) { take_next(ended + conversation.turns.front().think); });
  }

  void start(const PlannedConversation& conversation, base::Micros at, OnEnd on_end) {
    // In a closed loop the first turn's thinking was done by the client before it.
    send(std::make_shared<Talk>(Talk{conversation, std::move(on_end)}), at);
  }

  void send(const std::shared_ptr<Talk>& talk, base::Micros at) {
    const PlannedTurn& turn = talk->plan.turns[talk->turn];
    talk->messages.push_back(talk->turn == 0 ? first_text(talk->plan) : next_text(turn));
    talk->said_tokens += turn.prompt_tokens;
    const LoadRequest request{talk->messages, turn.output_tokens, session_.service_class};
    session_.client.send(request, at, [this, talk](const Reply& reply) { take(talk, reply); });
  }

  void take(const std::shared_ptr<Talk>& talk, const Reply& reply) {
    const PlannedTurn& turn = talk->plan.turns[talk->turn];
    records_.push_back({reply, talk->said_tokens, turn.output_tokens});
    session_.progress(static_cast<int64_t>(records_.size()), static_cast<int64_t>(total_));
    talk->said_tokens += turn.output_tokens;
    talk->messages.push_back(reply.text);
    ++talk->turn;
    if (!reply.error_kind.empty() || talk->turn == talk->plan.turns.size()) return talk->on_end(reply.ended);
    send(talk, reply.ended + talk->plan.turns[talk->turn].think);
  }

  uint32_t plain_words(double tokens) const {
    return static_cast<uint32_t>(std::max(1.0, std::round(tokens / session_.scale.per_word)));
  }

  std::string first_text(const PlannedConversation& conversation) {
    const uint32_t tokens = conversation.turns.front().prompt_tokens;
    std::string text;
    if (!conversation.blocks.empty()) {
      for (size_t i = 0; i < conversation.blocks.size(); ++i) {
        const auto before = static_cast<uint32_t>(i) * worlds::kPromptBlockTokens;
        if (before >= tokens) break;
        text += session_.text.named(conversation.blocks[i],
                                    plain_words(std::min(tokens - before, worlds::kPromptBlockTokens)));
      }
      return text;
    }
    uint32_t shared_words = 0;
    if (conversation.shared_tokens > 0) {
      shared_words = plain_words(conversation.shared_tokens);
      text = session_.text.named(conversation.shared_group, shared_words) + ' ';
    }
    const uint32_t words = session_.scale.words(tokens);
    return text + session_.text.fresh(words > shared_words ? words - shared_words : 1);
  }

  std::string next_text(const PlannedTurn& turn) { return ' ' + session_.text.fresh(plain_words(turn.prompt_tokens)); }

  LoadSession& session_;
  const LoadPlan& plan_;
  size_t total_ = 0, next_ = 0;
  std::vector<LoadRecord> records_;
};

}  // namespace

base::Result<bool> learn_scale(LoadSession& session) {
  int64_t counts[2] = {0, 0};
  for (const int more : {0, 1}) {
    Reply reply;
    const LoadRequest request{{session.text.fresh(more == 0 ? kWordsLess : kWordsMore)}, 1, ""};
    session.client.send(request, session.client.now(), [&reply](const Reply& seen) { reply = seen; });
    session.client.run();
    // A first token whose text is held back (half a character) is an answer too.
    if (!reply.error_kind.empty() && reply.error_kind != "no token")
      return base::Error{base::ErrorCode::io, "the server does not answer (" + reply.error_kind + "): " + reply.error};
    counts[more] = reply.prompt_tokens.value_or(0);
  }
  if (counts[0] <= 0 || counts[1] <= counts[0]) return false;
  session.scale = TokenScale::from(kWordsLess, counts[0], kWordsMore, counts[1]);
  return true;
}

std::vector<LoadRecord> run_open(LoadSession& session, const LoadPlan& plan) { return PlanRun(session, plan).open(); }

std::vector<LoadRecord> run_closed(LoadSession& session, const LoadPlan& plan, uint32_t clients) {
  return PlanRun(session, plan).closed(clients);
}

}  // namespace takt::apps
