#include "server/openai/live_stream.h"

#include "server/metrics/live_json.h"

namespace takt::server {

namespace {

base::Micros now_of(const Backend* backend) { return backend != nullptr ? backend->port->now() : base::Micros(0); }

}  // namespace

void LiveStream::start() {
  HttpReply head;
  head.content_type = "text/event-stream; charset=utf-8";
  head.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
  exchange_->begin_stream(std::move(head));
  greeted_ = source_.backend();
  write_hello(greeted_.get());
  tick();
}

void LiveStream::write_hello(const Backend* backend) {
  const LiveModel* model = backend != nullptr ? &backend->live : nullptr;
  exchange_->write("event: hello\ndata: " + hello_json(model, source_.started_unix_ms, now_of(backend)) + "\n\n");
}

// A reader that has not taken what was written before gets nothing more for now: what waits for it does not grow.
void LiveStream::tick() {
  if (!exchange_->is_open()) return;
  const bool is_draining = source_.is_draining();
  if (exchange_->bytes_waiting() == 0 || is_draining) {
    const std::shared_ptr<const Backend> backend = source_.backend();
    if (backend != greeted_) {
      greeted_ = backend;
      write_hello(backend.get());
    }
    TickState tick;
    tick.seq = ++seq_;
    tick.now = now_of(backend.get());
    tick.state = is_draining ? "draining" : backend != nullptr ? "ready" : "loading";
    tick.refused = metrics_->refused_count();
    if (backend != nullptr) {
      tick.model = &backend->live;
      tick.bounds = backend->port->bounds();
    }
    const LiveSnapshot snapshot = metrics_->live().snapshot(cursor_, tick.now);
    exchange_->write("event: tick\nid: " + std::to_string(seq_) + "\ndata: " + tick_json(tick, snapshot) + "\n\n");
  }
  if (is_draining) return exchange_->end_stream();
  exchange_->call_after(std::chrono::milliseconds(kLiveTickMs), [self = shared_from_this()] { self->tick(); });
}

}  // namespace takt::server
