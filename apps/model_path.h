// From what a person writes for a model to a file.
#pragma once

#include <filesystem>
#include <string>

namespace takt::apps {

// Where Takt keeps what it may fetch or measure again: $TAKT_CACHE, $XDG_CACHE_HOME/takt or ~/.cache/takt.
std::filesystem::path cache_folder();

// A path stays as it is when the file exists or it looks like a path (has a '/' or ends in .gguf); a short name such as
// "smollm2-135m" becomes <cache>/models/<name>.gguf when that file is there. Otherwise returns `model` unchanged, and opening it says
// what is missing. <cache>: cache_folder().
std::string resolve_model(const std::string& model);

}  // namespace takt::apps
