#include "worlds/sim/sim_report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace takt::worlds {
namespace {

// printf into a string; longer lines than 400 characters do not occur here.
[[gnu::format(printf, 2, 3)]] void append(std::string& text, const char* format, ...) {
  std::array<char, 400> line;
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line.data(), line.size(), format, arguments);
  va_end(arguments);
  text.append(line.data(), std::clamp<size_t>(static_cast<size_t>(std::max(length, 0)), 0, line.size() - 1));
}

double ms(base::Micros time) { return static_cast<double>(time.count()) / 1000; }

double per_second(uint64_t count, base::Micros duration) {
  return duration.count() > 0 ? static_cast<double>(count) * 1e6 / static_cast<double>(duration.count()) : 0;
}

std::string percentiles_json(const char* name, const Percentiles& p) {
  std::string text;
  append(text, R"("%s":{"count":%llu,"mean":%lld,"p50":%lld,"p90":%lld,"p99":%lld,"max":%lld})", name,
         static_cast<unsigned long long>(p.count), static_cast<long long>(p.mean.count()),
         static_cast<long long>(p.p50.count()), static_cast<long long>(p.p90.count()),
         static_cast<long long>(p.p99.count()), static_cast<long long>(p.max.count()));
  return text;
}

bool is_within(const RequestRecord& record, const contract::ClassLimits& limits) {
  using contract::FinishReason;
  if (record.finish != FinishReason::stop && record.finish != FinishReason::length) return false;
  if (limits.ttft_max && record.first_token && *record.first_token - record.arrival.at > *limits.ttft_max) return false;
  return !limits.itl_max || std::all_of(record.token_gaps.begin(), record.token_gaps.end(),
                                        [&](base::Micros gap) { return gap <= *limits.itl_max; });
}

void append_goodput(std::string& text, const SimReport& report) {
  for (const ClassReport& of_class : report.classes) {
    if (of_class.requests == 0 || (!of_class.limits.ttft_max && !of_class.limits.itl_max)) continue;
    append(text, "goodput      %s: %.1f %% of the requests within their limits, %.3f a second\n",
           std::string(contract::name(of_class.service_class)).c_str(),
           100 * static_cast<double>(of_class.within) / static_cast<double>(of_class.requests),
           per_second(of_class.within, report.duration));
  }
}

// The fields of a report, without the outer braces.
std::string fields_json(const SimReport& report) {
  std::string text;
  append(text, R"("duration_us":%lld,"steps":%llu,"preemptions":%llu,"preempted_tokens":%llu,"prompt_tokens":%llu,)",
         static_cast<long long>(report.duration.count()), static_cast<unsigned long long>(report.steps),
         static_cast<unsigned long long>(report.preemptions),
         static_cast<unsigned long long>(report.preempted_tokens_lost),
         static_cast<unsigned long long>(report.prompt_tokens));
  append(text, R"("output_tokens":%llu,"prefill_tokens_per_s":%.3f,"decode_tokens_per_s":%.3f,"classes":{)",
         static_cast<unsigned long long>(report.output_tokens), per_second(report.prompt_tokens, report.duration),
         per_second(report.output_tokens, report.duration));
  const char* separator = "";
  for (const ClassReport& of_class : report.classes) {
    append(text, R"(%s"%s":{"requests":%llu,"refused":%llu,"cancelled":%llu,"within":%llu,)", separator,
           std::string(contract::name(of_class.service_class)).c_str(),
           static_cast<unsigned long long>(of_class.requests), static_cast<unsigned long long>(of_class.refused),
           static_cast<unsigned long long>(of_class.cancelled), static_cast<unsigned long long>(of_class.within));
    text += percentiles_json("ttft_us", of_class.ttft) + "," + percentiles_json("itl_us", of_class.itl) + "," +
            percentiles_json("queue_us", of_class.queue) + "}";
    separator = ",";
  }
  return text + "}";
}

}  // namespace

Percentiles percentiles(std::vector<base::Micros> samples) {
  Percentiles result;
  if (samples.empty()) return result;
  std::sort(samples.begin(), samples.end());
  const uint64_t count = samples.size();
  const auto rank = [&](uint64_t percent) { return samples[(count * percent + 99) / 100 - 1]; };
  base::Micros sum;
  for (const base::Micros sample : samples) sum += sample;
  result.count = count;
  result.mean = base::Micros(sum.count() / static_cast<int64_t>(count));
  result.p50 = rank(50);
  result.p90 = rank(90);
  result.p99 = rank(99);
  result.max = samples.back();
  return result;
}

SimReport make_report(const std::vector<RequestRecord>& records, uint64_t steps, uint64_t preemptions,
                      const contract::ServicePolicy& policy) {
  SimReport report;
  std::array<std::vector<base::Micros>, 3> ttft, itl, queue;
  base::Micros last_end;
  for (const RequestRecord& record : records) {
    const auto index = static_cast<size_t>(record.arrival.service_class);
    ClassReport& of_class = report.classes[index];
    ++of_class.requests;
    of_class.refused += record.is_refused ? 1 : 0;
    of_class.cancelled += record.finish == contract::FinishReason::cancelled ? 1 : 0;
    if (record.first_scheduled) queue[index].push_back(*record.first_scheduled - record.arrival.at);
    if (record.first_token) {
      ttft[index].push_back(*record.first_token - record.arrival.at);
      report.prompt_tokens += record.arrival.prompt_tokens;
    }
    itl[index].insert(itl[index].end(), record.token_gaps.begin(), record.token_gaps.end());
    report.output_tokens += record.output_tokens;
    if (record.finished) last_end = std::max(last_end, *record.finished);
    of_class.within += is_within(record, policy.classes[index]) ? 1 : 0;
  }
  for (size_t i = 0; i < report.classes.size(); ++i) {
    report.classes[i].service_class = static_cast<contract::ServiceClass>(i);
    report.classes[i].limits = policy.classes[i];
    report.classes[i].ttft = percentiles(std::move(ttft[i]));
    report.classes[i].itl = percentiles(std::move(itl[i]));
    report.classes[i].queue = percentiles(std::move(queue[i]));
  }
  if (!records.empty()) report.duration = last_end - records.front().arrival.at;
  report.steps = steps;
  report.preemptions = preemptions;
  return report;
}

std::string to_table(const SimReport& report) {
  std::string text;
  append(text, "%-12s %8s %8s %8s  %-6s %10s %10s %10s %10s\n", "class", "requests", "refused", "hung up", "ms", "p50",
         "p90", "p99", "max");
  for (const ClassReport& of_class : report.classes) {
    if (of_class.requests == 0) continue;
    append(text, "%-12s %8llu %8llu %8llu", std::string(contract::name(of_class.service_class)).c_str(),
           static_cast<unsigned long long>(of_class.requests), static_cast<unsigned long long>(of_class.refused),
           static_cast<unsigned long long>(of_class.cancelled));
    struct Row {
      const char* name;
      const Percentiles& values;
    };
    int indent = 0;
    for (const Row& row : {Row{"TTFT", of_class.ttft}, Row{"ITL", of_class.itl}, Row{"queue", of_class.queue}}) {
      append(text, "%*s  %-6s %10.1f %10.1f %10.1f %10.1f\n", indent, "", row.name, ms(row.values.p50),
             ms(row.values.p90), ms(row.values.p99), ms(row.values.max));
      indent = 39;
    }
  }
  append(text, "\nvirtual time %.1f s   steps %llu   preemptions %llu", ms(report.duration) / 1000,
         static_cast<unsigned long long>(report.steps), static_cast<unsigned long long>(report.preemptions));
  if (report.preempted_tokens_lost > 0)
    append(text, " (%llu tokens evaluated again, %.1f s)",
           static_cast<unsigned long long>(report.preempted_tokens_lost), ms(report.preempted_time_lost) / 1000);
  text += "\n";
  append(text, "throughput   prefill %.1f tokens/s   decode %.1f tokens/s\n",
         per_second(report.prompt_tokens, report.duration), per_second(report.output_tokens, report.duration));
  append_goodput(text, report);
  return text;
}

std::string to_json(const SimReport& report, uint64_t seed, const SimReport* recorded) {
  std::string text;
  append(text, R"({"seed":%llu,)", static_cast<unsigned long long>(seed));
  text += fields_json(report);
  if (recorded) text += ",\"recorded\":{" + fields_json(*recorded) + "}";
  return text + "}\n";
}

std::string to_comparison(const SimReport& recorded, const SimReport& simulated) {
  std::string text;
  append(text, "%-12s %-12s %12s %12s %9s\n", "class", "", "recorded", "simulated", "error");
  const auto line = [&](std::string_view of_class, const char* what, double real, double predicted) {
    append(text, "%-12s %-12s %12.1f %12.1f", std::string(of_class).c_str(), what, real, predicted);
    if (real > 0) append(text, " %+8.1f%%", (predicted / real - 1) * 100);
    text += '\n';
  };
  for (size_t i = 0; i < recorded.classes.size(); ++i) {
    const ClassReport &real = recorded.classes[i], &predicted = simulated.classes[i];
    if (real.requests == 0) continue;
    line(contract::name(real.service_class), "TTFT P50 ms", ms(real.ttft.p50), ms(predicted.ttft.p50));
    line("", "TTFT P99 ms", ms(real.ttft.p99), ms(predicted.ttft.p99));
    line("", "ITL P50 ms", ms(real.itl.p50), ms(predicted.itl.p50));
    line("", "ITL P99 ms", ms(real.itl.p99), ms(predicted.itl.p99));
    line("", "queue P50 ms", ms(real.queue.p50), ms(predicted.queue.p50));
  }
  const auto tokens_per_s = [](const SimReport& report) {
    return per_second(report.prompt_tokens + report.output_tokens, report.duration);
  };
  line("all", "tokens/s", tokens_per_s(recorded), tokens_per_s(simulated));
  line("", "steps", static_cast<double>(recorded.steps), static_cast<double>(simulated.steps));
  return text;
}

}  // namespace takt::worlds
