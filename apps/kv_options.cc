#include "kv_options.h"

#include "app_options.h"

namespace takt::apps {
namespace {

base::KvFormat format_of(const std::string& option, const std::string& name) {
  const auto format = base::find_kv_format(name);
  if (!format) fail(option + " " + name + ": unknown KV format (known: " + base::known_kv_formats() + ")");
  return *format;
}

}  // namespace

void add_kv_options(CLI::App& app, KvOptions& options) {
  add_option(app, "--kv-format", options.format,
             "format of the KV cache: f16, bf16, q8_0, or q4 (keys in q8_0, values in 4 bits); empty: f16");
  add_option(app, "--kv-keys,--cache-type-k", options.keys, "format of the keys alone: f16, bf16, q8_0");
  add_option(app, "--kv-values,--cache-type-v", options.values, "format of the values alone: f16, bf16, q8_0, q4");
}

base::KvFormats kv_formats(const KvOptions& options, const kernels::KernelSet& kernel_set) {
  base::KvFormats formats = kernel_set.kv_default;
  if (!options.format.empty()) {
    formats.keys = formats.values = format_of("--kv-format", options.format);
    if (formats.keys == base::KvFormat::q4) formats.keys = base::KvFormat::q8_0;
  }
  if (!options.keys.empty()) formats.keys = format_of("--kv-keys", options.keys);
  if (!options.values.empty()) formats.values = format_of("--kv-values", options.values);
  return formats;
}

}  // namespace takt::apps
