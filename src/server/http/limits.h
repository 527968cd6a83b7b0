// What one client may cost.
#pragma once

#include <chrono>
#include <cstddef>

namespace takt::server {

struct ConnectionLimits {
  size_t connections_max = 512;  // one more is answered 503 and closed
  size_t head_bytes_max = size_t{32} << 10;
  size_t body_bytes_max = size_t{8} << 20;         // of one request: 413 above. 128k tokens as text are about 0.5 MiB
  size_t body_bytes_total_max = size_t{64} << 20;  // of all requests being read or answered: 503 above
  // Reply bytes that may wait for a slow reader before a further piece of a stream disconnects it. One reply in one piece may be
  // larger. The kernel buffers some megabytes more.
  size_t output_bytes_max = size_t{1} << 20;
  // Bytes of further requests kept while one is answered; a client that sends more loses them, and the connection after the reply.
  size_t pipelined_bytes_max = size_t{64} << 10;
  std::chrono::milliseconds idle_timeout{60'000};  // between requests
  std::chrono::milliseconds head_timeout{
      10'000};  // from a request's first byte (or the connection's start) to its head's end
  std::chrono::milliseconds body_timeout{120'000};  // from the head's end to the body's end
  std::chrono::milliseconds write_timeout{30'000};  // without a byte taken by the reader
  std::chrono::milliseconds linger_timeout{2'000};  // after the last reply, for the client to close first
};

}  // namespace takt::server
