#include "server/openai/bounds_reply.h"

#include "server/http/json_writer.h"

namespace takt::server {
namespace {

double ms(base::Micros time) { return static_cast<double>(time.count()) / 1e3; }

void write_violation(JsonWriter& json, const contract::BoundViolation& violation) {
  const std::string words =
      "step " + std::to_string(violation.step) + " with " + std::to_string(violation.prefill_tokens) +
      " prompt tokens and " + std::to_string(violation.decode_rows) + " decode rows took " +
      std::to_string(violation.actual.count() / 1000) + " ms: " + std::to_string(violation.predicted.count() / 1000) +
      " ms were expected, " + std::to_string(violation.bound.count() / 1000) + " ms promised";
  json.begin_object().key("words").string(words);
  json.key("step").unsigned_integer(violation.step);
  json.key("at_ms").number(ms(violation.at));
  json.key("bound_ms").number(ms(violation.bound));
  json.key("predicted_ms").number(ms(violation.predicted));
  json.key("actual_ms").number(ms(violation.actual));
  json.key("prefill_tokens").unsigned_integer(violation.prefill_tokens);
  json.key("decode_rows").unsigned_integer(violation.decode_rows);
  json.end_object();
}

}  // namespace

std::string bounds_json(const contract::Bounds& bounds) {
  JsonWriter json;
  json.begin_object();
  json.key("gap_ms_max").number(ms(bounds.gap_max));
  json.key("prompt_wait_ms_max").number(ms(bounds.prompt_wait_max));
  json.key("requests").begin_object();
  json.key("waiting").unsigned_integer(bounds.waiting_requests);
  json.key("prefilling").unsigned_integer(bounds.prefilling_requests);
  json.key("decoding").unsigned_integer(bounds.decoding_requests);
  json.key("prompt_tokens_waiting").integer(bounds.waiting_tokens.count());
  json.end_object();
  json.key("chunk").begin_object();
  json.key("step_ms_target").number(ms(bounds.step_us_target));
  json.key("tokens").unsigned_integer(bounds.chunk_tokens);
  json.key("margin").number(bounds.margin_thousandths / 1e3);
  json.end_object();
  json.key("violations").unsigned_integer(bounds.bound_violations);
  json.key("last_violation");
  if (bounds.last_violation) {
    write_violation(json, *bounds.last_violation);
  } else {
    json.null();
  }
  json.key("classes").begin_object();
  for (const contract::ServiceClass service_class : contract::kServiceClasses) {
    const contract::ClassAttainment& attainment = bounds.attainment[static_cast<size_t>(service_class)];
    json.key(std::string(contract::name(service_class))).begin_object();
    json.key("first_tokens").unsigned_integer(attainment.first_tokens);
    json.key("first_tokens_late").unsigned_integer(attainment.first_tokens_late);
    json.key("gaps").unsigned_integer(attainment.gaps);
    json.key("gaps_late").unsigned_integer(attainment.gaps_late);
    json.end_object();
  }
  json.end_object().end_object();
  return json.take();
}

}  // namespace takt::server
