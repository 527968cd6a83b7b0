#include "worlds/recording_lines.h"

#include "worlds/call_text.h"

namespace takt::worlds {

base::Result<RecordingHead> read_recording_head(RecordingLines& lines) {
  if (!lines.try_next() || lines.text() != kRecordingHeader) {
    return lines.error("'" + std::string(kRecordingHeader) + "' expected");
  }
  if (!lines.try_next()) return lines.error("the capacity is missing");
  const base::Result<contract::Capacity> capacity = parse_capacity(lines.text());
  if (!capacity.ok()) return lines.error(capacity.error().message);
  RecordingHead head{*capacity, {}};
  if (!lines.try_next()) return head;
  if (!lines.text().starts_with("policy")) {
    lines.put_back();
    return head;
  }
  const base::Result<contract::ServicePolicy> policy = parse_policy(lines.text());
  if (!policy.ok()) return lines.error(policy.error().message);
  head.policy = *policy;
  return head;
}

}  // namespace takt::worlds
