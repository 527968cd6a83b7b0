// A small blocking HTTP client over a raw socket, for tests that need to misbehave.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace takt::server {

struct TestReply {
  int status = 0;  // 0: the connection ended before a head
  std::string head;
  std::string body;  // without the chunked framing
  bool is_complete = false;
  // A header's value, found without regard to case; empty when absent.
  std::string header(std::string_view name) const;
};

class TestClient {
 public:
  explicit TestClient(uint16_t port, int receive_buffer_bytes = 0);
  ~TestClient() { close(); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  bool is_connected() const { return socket_ >= 0; }
  // False when the server has closed.
  bool send(std::string_view bytes);
  TestReply receive(bool is_head_request = false);
  // Whatever comes within the time, at least one byte unless the server closed or the time ran out.
  std::string receive_some(int timeout_ms = 5000);
  // True when the server closes (in order or by reset) within the time; what it still sends is dropped.
  bool waits_for_close(int timeout_ms);
  void close();
  void reset();  // closes with a TCP reset

 private:
  bool fill(int timeout_ms);
  bool read_until(std::string_view mark, std::string& out);
  bool read_bytes(size_t count, std::string& out);

  int socket_ = -1;
  std::string buffer_;
};

std::string post_request(std::string_view path, std::string_view body, std::string_view extra_headers = "");
// Connects, sends, receives.
TestReply post(uint16_t port, std::string_view path, std::string_view body, std::string_view extra_headers = "");
TestReply get(uint16_t port, std::string_view path, std::string_view method = "GET",
              std::string_view extra_headers = "");
// The data of each SSE event in a stream's body; a piece that is no "data: …\n\n" event is returned as "MALFORMED …".
std::vector<std::string> events_of(std::string_view body);

}  // namespace takt::server
