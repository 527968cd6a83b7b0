// --kv-format, --kv-keys and --kv-values, for every command that keeps keys and values or computes their size.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "base/kv_format.h"
#include "kernels/kernel_set.h"

namespace takt::apps {

struct KvOptions {
  std::string format;        // both; "q4": keys in q8_0, values in q4. Empty: the kernel set's own
  std::string keys, values;  // one of the two; empty: as `format` says
};

void add_kv_options(CLI::App& app, KvOptions& options);

// Fails the command on an unknown name.
base::KvFormats kv_formats(const KvOptions& options, const kernels::KernelSet& kernel_set);

}  // namespace takt::apps
