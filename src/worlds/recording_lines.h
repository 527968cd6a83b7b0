// Lines of a recording or scenario that say something, with their numbers.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <utility>

#include "base/error.h"
#include "contract/model_shape.h"
#include "contract/service_policy.h"

namespace takt::worlds {

class RecordingLines {
 public:
  // `in` outlives this object.
  explicit RecordingLines(std::istream& in) : in_(in) {}
  // False at the end. A line without its line end was cut off: it does not count. Blank lines and comments are skipped.
  bool try_next() {
    if (std::exchange(is_put_back_, false)) return true;
    while (std::getline(in_, line_)) {
      if (in_.eof()) return false;
      ++number_;
      while (!line_.empty() && (line_.back() == '\r' || line_.back() == ' ')) line_.pop_back();
      if (!line_.empty() && line_[0] != '#') return true;
    }
    return false;
  }
  // The next try_next() gives this line again.
  void put_back() { is_put_back_ = true; }
  const std::string& text() const { return line_; }
  uint64_t number() const { return number_; }
  // invalid_file, with the number of the present line in front.
  base::Error error(const std::string& message) const {
    return {base::ErrorCode::invalid_file, "line " + std::to_string(number_) + ": " + message};
  }

 private:
  std::istream& in_;
  std::string line_;
  uint64_t number_ = 0;
  bool is_put_back_ = false;
};

// What stands before the calls.
struct RecordingHead {
  contract::Capacity capacity;
  contract::ServicePolicy policy;
};
// Errors: invalid_file, naming the line.
base::Result<RecordingHead> read_recording_head(RecordingLines& lines);

}  // namespace takt::worlds
