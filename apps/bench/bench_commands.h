// The subcommands of `takt bench`, one file each (takt_bench_<name>.cc).
#pragma once

#include <CLI/CLI.hpp>

#include <memory>
#include <optional>

#include "bench/roofline.h"
#include "gguf/file.h"
#include "kernels/kernel_set.h"
#include "model/model.h"

namespace takt::apps {

void add_bench_roofline_command(CLI::App& bench);
void add_bench_kernels_command(CLI::App& bench);
void add_bench_rows_command(CLI::App& bench);
void add_bench_serve_command(CLI::App& bench);
void add_bench_division_command(CLI::App& bench);

// Loads with all threads. Fails the command when it cannot.
std::shared_ptr<const model::Model> load_for_bench(std::shared_ptr<const gguf::File> file,
                                                   const kernels::KernelSet& set,
                                                   std::optional<base::KvFormats> kv = {});

// The ceilings kept for this machine; measured (said on stderr) and kept when there are none, or with is_refresh. Fails the command
// when memory is short.
Roofline roofline_or_fail(bool is_refresh);

}  // namespace takt::apps
