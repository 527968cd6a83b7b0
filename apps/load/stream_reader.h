// Reads one streamed completion of an OpenAI-compatible server (server-sent events) into a Reply. Pure: bytes and times go in.
#pragma once

#include <string>
#include <string_view>

#include "load/reply.h"

namespace takt::apps {

class StreamReader {
 public:
  explicit StreamReader(Reply& reply) : reply_(reply) {}

  // Bytes of the response's body in any pieces, with the time at which they were read.
  void feed(std::string_view bytes, base::Micros at);
  // The body has ended. A stream that stopped before it said that it was done is an error ("cut off"), an answer without one token too
  // ("no token").
  void finish();
  bool is_done() const { return is_done_; }

 private:
  void take_line(std::string_view line, base::Micros at);
  void take_event(std::string_view data, base::Micros at);
  void fail(const std::string& kind, const std::string& what);

  Reply& reply_;
  std::string line_;  // what came of a line that has not ended
  std::string data_;  // the data lines of an event that has not ended
  bool is_done_ = false;
};

// One whole JSON reply of an error, as text for a person: its error.message, or the beginning of the body.
std::string error_text(std::string_view body);

}  // namespace takt::apps
