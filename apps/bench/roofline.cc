#include "bench/roofline.h"

#include <boost/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <sstream>

#include "model_path.h"

namespace takt::apps {
namespace {

constexpr int kFileVersion = 1;
constexpr size_t kFileBytesMax = 1 << 20;

const ThreadCeilings* find_threads(const Roofline& roofline, int threads) {
  for (const ThreadCeilings& entry : roofline.ceilings)
    if (entry.threads == threads) return &entry;
  return nullptr;
}

double rate_of(const ThreadCeilings& entry, const std::string& name) {
  const auto found = entry.rates.find(name);
  return found == entry.rates.end() ? 0 : found->second;
}

// The best rate whose name begins with `prefix`.
double best_rate(const ThreadCeilings& entry, const std::string& prefix) {
  double best = 0;
  for (const auto& [name, rate] : entry.rates)
    if (name.starts_with(prefix)) best = std::max(best, rate);
  return best;
}

Ceilings ceilings_at(const ThreadCeilings& entry, std::string_view kernel_set) {
  const std::string set(kernel_set);
  Ceilings out;
  out.int8_per_s = rate_of(entry, "int8_" + set);
  if (out.int8_per_s == 0) out.int8_per_s = best_rate(entry, "int8_");
  out.float_per_s = rate_of(entry, "f32_" + set);
  if (out.float_per_s == 0) out.float_per_s = best_rate(entry, "f32_");
  out.read_bytes_per_s = rate_of(entry, kReadMemory);
  out.read_cache_bytes_per_s = rate_of(entry, kReadCache);
  return out;
}

boost::json::object machine_json(const Machine& machine) {
  boost::json::array isa, caches;
  for (const std::string& name : machine.isa) isa.emplace_back(name);
  for (const Cache& cache : machine.caches)
    caches.push_back(boost::json::object{{"level", cache.level}, {"bytes", cache.bytes}});
  return {{"processor", machine.processor}, {"threads", machine.threads},           {"cores", machine.cores},
          {"isa", std::move(isa)},          {"memory_bytes", machine.memory_bytes}, {"caches", std::move(caches)}};
}

Machine machine_of(const boost::json::object& object) {
  Machine machine;
  machine.processor = object.at("processor").as_string().c_str();
  machine.threads = object.at("threads").to_number<int>();
  machine.cores = object.at("cores").to_number<int>();
  machine.memory_bytes = object.at("memory_bytes").to_number<int64_t>();
  for (const auto& name : object.at("isa").as_array()) machine.isa.emplace_back(name.as_string().c_str());
  for (const auto& cache : object.at("caches").as_array())
    machine.caches.push_back({cache.at("level").to_number<int>(), cache.at("bytes").to_number<int64_t>()});
  return machine;
}

Roofline roofline_of(const boost::json::object& object) {
  Roofline roofline;
  roofline.machine = machine_of(object.at("machine").as_object());
  roofline.measured_at = object.at("measured_at").as_string().c_str();
  for (const auto& entry : object.at("ceilings").as_array()) {
    ThreadCeilings ceilings;
    ceilings.threads = entry.at("threads").to_number<int>();
    for (const auto& field : entry.at("rates").as_object())
      ceilings.rates[std::string(field.key())] = field.value().to_number<double>();
    roofline.ceilings.push_back(std::move(ceilings));
  }
  return roofline;
}

std::string file_name_part(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

}  // namespace

Ceilings ceilings_of(const Roofline& roofline, std::string_view kernel_set, int threads) {
  if (roofline.ceilings.empty()) return {};
  if (const ThreadCeilings* exact = find_threads(roofline, threads)) return ceilings_at(*exact, kernel_set);
  const auto above = std::find_if(roofline.ceilings.begin(), roofline.ceilings.end(),
                                  [&](const ThreadCeilings& entry) { return entry.threads > threads; });
  if (above == roofline.ceilings.end()) return ceilings_at(roofline.ceilings.back(), kernel_set);
  if (above == roofline.ceilings.begin()) return ceilings_at(*above, kernel_set);
  const auto below = above - 1;
  const Ceilings low = ceilings_at(*below, kernel_set), high = ceilings_at(*above, kernel_set);
  const double part = static_cast<double>(threads - below->threads) / (above->threads - below->threads);
  return {std::lerp(low.int8_per_s, high.int8_per_s, part), std::lerp(low.float_per_s, high.float_per_s, part),
          std::lerp(low.read_bytes_per_s, high.read_bytes_per_s, part),
          std::lerp(low.read_cache_bytes_per_s, high.read_cache_bytes_per_s, part)};
}

std::vector<int> thread_counts_up_to(int threads) {
  std::vector<int> counts;
  for (int count = 1; count < threads; count *= 2) counts.push_back(count);
  counts.push_back(std::max(1, threads));
  return counts;
}

std::string to_json(const Roofline& roofline) {
  boost::json::array ceilings;
  for (const ThreadCeilings& entry : roofline.ceilings) {
    boost::json::object rates;
    for (const auto& [name, rate] : entry.rates) rates[name] = std::round(rate);
    ceilings.push_back(boost::json::object{{"threads", entry.threads}, {"rates", std::move(rates)}});
  }
  return boost::json::serialize(boost::json::object{{"version", kFileVersion},
                                                    {"machine", machine_json(roofline.machine)},
                                                    {"measured_at", roofline.measured_at},
                                                    {"ceilings", std::move(ceilings)}});
}

base::Result<Roofline> roofline_of_json(std::string_view text) {
  boost::json::error_code parse_error;
  const boost::json::value value = boost::json::parse(boost::json::string_view(text.data(), text.size()), parse_error);
  if (parse_error)
    return base::Error{base::ErrorCode::invalid_file, "a roofline file is no JSON: " + parse_error.message()};
  try {
    const auto& object = value.as_object();
    if (object.at("version").to_number<int>() != kFileVersion)
      return base::Error{base::ErrorCode::invalid_file, "version: expected " + std::to_string(kFileVersion)};
    return roofline_of(object);
  } catch (const std::exception& error) {  // a field is missing or of another type
    return base::Error{base::ErrorCode::invalid_file, std::string("a roofline file is not whole: ") + error.what()};
  }
}

std::filesystem::path roofline_path(const Machine& machine) {
  std::string isa;
  for (const std::string& name : machine.isa) isa += (isa.empty() ? "" : "-") + name;
  const std::string name =
      file_name_part(machine.processor) + "-" + std::to_string(machine.threads) + "-threads-" + file_name_part(isa);
  return cache_folder() / "rooflines" / (name + ".json");
}

std::optional<Roofline> try_load_roofline(const Machine& machine) {
  std::ifstream stream(roofline_path(machine), std::ios::binary);
  if (!stream) return std::nullopt;
  std::string text(kFileBytesMax, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(stream.gcount()));
  auto roofline = roofline_of_json(text);
  if (!roofline || roofline->machine != machine || roofline->ceilings.empty()) return std::nullopt;
  return std::move(roofline).value();
}

base::Status store_roofline(const Roofline& roofline) {
  const std::filesystem::path path = roofline_path(roofline.machine), part = path.string() + ".part";
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  {
    std::ofstream stream(part, std::ios::binary | std::ios::trunc);
    stream << to_json(roofline) << "\n";
    if (!stream.flush()) return base::Error{base::ErrorCode::io, part.string() + ": cannot be written"};
  }
  std::filesystem::rename(part, path, error);
  if (error) return base::Error{base::ErrorCode::io, path.string() + ": " + error.message()};
  return {};
}

}  // namespace takt::apps
