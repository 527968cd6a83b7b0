#include "server/openai/write_clock.h"

namespace takt::server {

WriteClock::~WriteClock() {
  const base::Micros now = port_.now();
  for (const contract::RequestId id : requests_) metrics_->live().on_closed(id, now);
}

void WriteClock::on_written(uint64_t bytes) {
  if (pending_.empty() || pending_.front().end > bytes) return;
  const base::Micros now = port_.now();
  for (; !pending_.empty() && pending_.front().end <= bytes; pending_.pop_front())
    metrics_->live().on_written(pending_.front().id, pending_.front().tokens, now);
}

}  // namespace takt::server
