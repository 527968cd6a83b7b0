#include "model_path.h"

#include <cstdlib>

namespace takt::apps {

std::filesystem::path cache_folder() {
  if (const char* cache = std::getenv("TAKT_CACHE"); cache != nullptr && *cache != 0) return cache;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != 0)
    return std::filesystem::path(cache) / "takt";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : ".") / ".cache" / "takt";
}

std::string resolve_model(const std::string& model) {
  std::error_code ignored;
  if (model.find('/') != std::string::npos || model.ends_with(".gguf") ||
      std::filesystem::is_regular_file(model, ignored))
    return model;
  const std::filesystem::path cached = cache_folder() / "models" / (model + ".gguf");
  return std::filesystem::is_regular_file(cached, ignored) ? cached.string() : model;
}

}  // namespace takt::apps
