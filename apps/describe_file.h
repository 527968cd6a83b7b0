// What is in a GGUF file, for people and for programs.
#pragma once

#include <boost/json.hpp>
#include <string>

#include "gguf/file.h"

namespace takt::apps {

// Several lines: the model in short, the metadata (long values cut), the tensors summed by type; with `lists_tensors`
// each tensor too. Bytes from the file that a terminal might obey are shown as escapes.
std::string describe(const gguf::File& file, bool lists_tensors);

// The same as an object: {"file", "version", "bytes", "parts", "architecture", "name", "tokenizer", "weight_count",
// "metadata": {key: value, long arrays as {"type", "count", "first"}}, "types": [{"type", "tensors", "weights",
// "bytes"}], "tensors": […]}. Strings that are not UTF-8 are escaped as in describe().
boost::json::object describe_json(const gguf::File& file, bool lists_tensors);

}  // namespace takt::apps
