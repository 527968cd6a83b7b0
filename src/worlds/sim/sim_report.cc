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

SimReport make_report(const SimWorld& world) {
  SimReport report;
  std::array<std::vector<base::Micros>, 3> ttft, itl, queue;
  base::Micros last_end;
  for (const RequestRecord& record : world.records()) {
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
  }
  for (size_t i = 0; i < report.classes.size(); ++i) {
    report.classes[i].service_class = static_cast<contract::ServiceClass>(i);
    report.classes[i].ttft = percentiles(std::move(ttft[i]));
    report.classes[i].itl = percentiles(std::move(itl[i]));
    report.classes[i].queue = percentiles(std::move(queue[i]));
  }
  if (!world.records().empty()) report.duration = last_end - world.records().front().arrival.at;
  report.steps = world.steps();
  report.preemptions = world.preemptions();
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
  append(text, "\nvirtual time %.1f s   steps %llu   preemptions %llu\n", ms(report.duration) / 1000,
         static_cast<unsigned long long>(report.steps), static_cast<unsigned long long>(report.preemptions));
  append(text, "throughput   prefill %.1f tokens/s   decode %.1f tokens/s\n",
         per_second(report.prompt_tokens, report.duration), per_second(report.output_tokens, report.duration));
  return text;
}

std::string to_json(const SimReport& report, uint64_t seed) {
  std::string text;
  append(text, R"({"seed":%llu,"duration_us":%lld,"steps":%llu,"preemptions":%llu,"prompt_tokens":%llu,)",
         static_cast<unsigned long long>(seed), static_cast<long long>(report.duration.count()),
         static_cast<unsigned long long>(report.steps), static_cast<unsigned long long>(report.preemptions),
         static_cast<unsigned long long>(report.prompt_tokens));
  append(text, R"("output_tokens":%llu,"prefill_tokens_per_s":%.3f,"decode_tokens_per_s":%.3f,"classes":{)",
         static_cast<unsigned long long>(report.output_tokens), per_second(report.prompt_tokens, report.duration),
         per_second(report.output_tokens, report.duration));
  const char* separator = "";
  for (const ClassReport& of_class : report.classes) {
    append(text, R"(%s"%s":{"requests":%llu,"refused":%llu,"cancelled":%llu,)", separator,
           std::string(contract::name(of_class.service_class)).c_str(),
           static_cast<unsigned long long>(of_class.requests), static_cast<unsigned long long>(of_class.refused),
           static_cast<unsigned long long>(of_class.cancelled));
    text += percentiles_json("ttft_us", of_class.ttft) + "," + percentiles_json("itl_us", of_class.itl) + "," +
            percentiles_json("queue_us", of_class.queue) + "}";
    separator = ",";
  }
  return text + "}}\n";
}

}  // namespace takt::worlds
