// The server with a scripted model behind it, to try clients without a model file. Usage: fake_server [PORT]; ends with its input.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "server/testing/fake_model.h"

int main(int argc, char** argv) {
  takt::server::FakeModel::Options options;
  options.context_tokens = 200'000;
  options.step_interval = std::chrono::milliseconds(1);
  takt::server::FakeModel model(options);
  takt::server::ServerOptions server_options;
  server_options.port = argc > 1 ? static_cast<uint16_t>(std::atoi(argv[1])) : 0;
  auto server = takt::server::HttpServer::start(server_options);
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().message.c_str());
    return 1;
  }
  (*server)->serve(model.served());
  std::printf("http://127.0.0.1:%u\n", (*server)->port());
  std::fflush(stdout);
  while (std::getchar() != EOF) continue;
  (*server)->stop(std::chrono::seconds(1));
  return 0;
}
