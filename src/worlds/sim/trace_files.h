// Published request traces, read strictly: a line that is not what the format says is an error, never skipped.
#pragma once

#include <istream>
#include <vector>

#include "base/error.h"
#include "worlds/sim/traffic.h"

namespace takt::worlds {

// AzureLLMInferenceTrace_*.csv (Azure Public Dataset): the header "TIMESTAMP,ContextTokens,GeneratedTokens", then lines
// like "2023-11-16 18:15:46.6805900,374,44", ascending in time. Times count from the first line; the limit of each
// answer is its length.
// Errors: invalid_file, naming the line.
base::Result<std::vector<Arrival>> parse_azure_csv(std::istream& in);

// Mooncake's *_trace.jsonl (FAST'25 release): lines like {"timestamp": 27482, "input_length": 6955, "output_length": 52,
// "hash_ids": [46, 47, …]}, the time in milliseconds, one hash for each 512 tokens of the prompt; equal hashes are equal
// tokens behind equal prefixes. A request without an answer (output_length 0) gets one token.
// Errors: invalid_file, naming the line.
base::Result<std::vector<Arrival>> parse_mooncake_jsonl(std::istream& in);

}  // namespace takt::worlds
