#include "text/stop_strings.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "text/utf8.h"

namespace takt::text {

// Aho and Corasick's automaton: a state is the longest end of the text so far that begins some stop string, its depth the length.
class StopStrings::Automaton {
 public:
  explicit Automaton(std::span<const std::string> strings) : nodes_(1) {
    for (const std::string& string : strings) add(string);
    link();
  }

  uint32_t next(uint32_t state, uint8_t byte) const {
    for (;;) {
      const auto edge = edges_.find(key(state, byte));
      if (edge != edges_.end()) return edge->second;
      if (state == 0) return 0;
      state = nodes_[state].fallback;
    }
  }

  uint32_t depth(uint32_t state) const { return nodes_[state].depth; }
  // Length of the longest stop string that ends here; 0: none does.
  uint32_t match_bytes(uint32_t state) const { return nodes_[state].match_bytes; }

 private:
  struct Node {
    uint32_t parent = 0;
    uint32_t fallback = 0;  // the state of the longest proper end of this one
    uint32_t depth = 0;
    uint32_t match_bytes = 0;
    uint8_t byte = 0;  // from the parent
  };
  static uint64_t key(uint32_t state, uint8_t byte) { return uint64_t{state} << 8 | byte; }

  void add(const std::string& string) {
    uint32_t state = 0;
    for (const char c : string) {
      const auto byte = static_cast<uint8_t>(c);
      const auto [edge, is_new] = edges_.try_emplace(key(state, byte), static_cast<uint32_t>(nodes_.size()));
      if (is_new) nodes_.push_back({state, 0, nodes_[state].depth + 1, 0, byte});
      state = edge->second;
    }
    nodes_[state].match_bytes = nodes_[state].depth;
  }

  // Breadth first, so that a node's fallback, which is less deep, is final before it.
  void link() {
    std::vector<std::vector<uint32_t>> by_depth;
    for (uint32_t i = 1; i < nodes_.size(); ++i) {
      if (nodes_[i].depth > by_depth.size()) by_depth.resize(nodes_[i].depth);
      by_depth[nodes_[i].depth - 1].push_back(i);
    }
    for (const auto& level : by_depth) {
      for (const uint32_t i : level) {
        Node& node = nodes_[i];
        node.fallback = node.parent == 0 ? 0 : next(nodes_[node.parent].fallback, node.byte);
        if (node.match_bytes == 0) node.match_bytes = nodes_[node.fallback].match_bytes;
      }
    }
  }

  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, uint32_t> edges_;
};

StopStrings::StopStrings() = default;
StopStrings::StopStrings(StopStrings&&) noexcept = default;
StopStrings& StopStrings::operator=(StopStrings&&) noexcept = default;
StopStrings::~StopStrings() = default;

base::Result<StopStrings> StopStrings::create(std::span<const std::string> strings) {
  size_t total_bytes = 0;
  for (size_t i = 0; i < strings.size(); ++i) {
    const std::string where = "stop string " + std::to_string(i);
    if (strings[i].empty()) return base::Error{base::ErrorCode::invalid_argument, where + " is empty"};
    if (utf8_valid_prefix(strings[i]) != strings[i].size()) {
      return base::Error{base::ErrorCode::invalid_argument, where + " is not UTF-8"};
    }
    total_bytes += strings[i].size();
    if (total_bytes > kTotalBytesMax) {
      return base::Error{base::ErrorCode::invalid_argument,
                         "the stop strings have more than " + std::to_string(kTotalBytesMax) + " bytes together"};
    }
  }
  StopStrings result;
  if (!strings.empty()) result.automaton_ = std::make_unique<const Automaton>(strings);
  return result;
}

StopStrings::Step StopStrings::push(std::string_view text) {
  if (!automaton_) return {std::string(text), false};
  const size_t held_bytes = held_.size();
  held_.append(text);
  for (size_t i = held_bytes; i < held_.size(); ++i) {
    state_ = automaton_->next(state_, static_cast<uint8_t>(held_[i]));
    if (const size_t match_bytes = automaton_->match_bytes(state_); match_bytes > 0) {
      return {held_.substr(0, i + 1 - match_bytes), true};
    }
  }
  const size_t released_bytes = held_.size() - automaton_->depth(state_);
  Step step{held_.substr(0, released_bytes), false};
  held_.erase(0, released_bytes);
  return step;
}

std::string StopStrings::finish() {
  state_ = 0;
  return std::exchange(held_, {});
}

}  // namespace takt::text
