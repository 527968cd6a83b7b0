#include "text/vocabulary_reader.h"

#include <string>
#include <string_view>
#include <utility>

namespace takt::text {
namespace {

base::Status read_string(const gguf::File& file, std::string_view key, std::string& out) {
  const auto value = file.string_or(key, "");
  if (!value) return value.error();
  out = *value;
  return {};
}

base::Status read_strings(const gguf::File& file, std::string_view key, std::vector<std::string>& out) {
  const auto values = file.strings(key);
  if (!values) return values.error();
  out.assign(values->begin(), values->end());
  return {};
}

base::Status read_flag(const gguf::File& file, std::string_view key, std::optional<bool>& out) {
  if (file.find(key) == nullptr) return {};
  const auto value = file.boolean(key);
  if (!value) return value.error();
  out = *value;
  return {};
}

base::Status check_count(const gguf::File& file, std::string_view key, size_t count, size_t token_count) {
  if (count == token_count) return {};
  return file.value_error(*file.find(key), "has " + std::to_string(count) + " entries, but the vocabulary has " +
                                               std::to_string(token_count) + " tokens");
}

base::Status read_scores(const gguf::File& file, VocabularyData& data) {
  constexpr std::string_view kKey = "tokenizer.ggml.scores";
  if (file.find(kKey) == nullptr) return {};
  const auto scores = file.floats(kKey);
  if (!scores) return scores.error();
  if (auto status = check_count(file, kKey, scores->size(), data.tokens.size()); !status) return status;
  data.scores.resize(scores->size());
  for (size_t i = 0; i < scores->size(); ++i) data.scores[i] = (*scores)[i];
  return {};
}

base::Status read_types(const gguf::File& file, VocabularyData& data) {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  const gguf::Value* value = file.find(kKey);
  if (value == nullptr) return {};
  const auto types = file.integers(kKey);
  if (!types) return types.error();
  if (auto status = check_count(file, kKey, types->size(), data.tokens.size()); !status) return status;
  data.token_types.resize(types->size());
  for (size_t i = 0; i < types->size(); ++i) {
    const int64_t type = (*types)[i];
    if (type < 0 || type > static_cast<int64_t>(TokenType::byte)) {
      return file.value_error(
          *value, "has the type " + std::to_string(type) + " at index " + std::to_string(i) + "; known are 0 to 6");
    }
    data.token_types[i] = static_cast<TokenType>(type);
  }
  return {};
}

base::Status read_id(const gguf::File& file, std::string_view key, size_t token_count, std::optional<TokenId>& out) {
  const gguf::Value* value = file.find(key);
  if (value == nullptr) return {};
  const auto id = file.u32(key);
  if (!id) return id.error();
  if (*id >= token_count) {
    return file.value_error(
        *value, "is " + std::to_string(*id) + ", outside the vocabulary of " + std::to_string(token_count) + " tokens");
  }
  out = static_cast<TokenId>(*id);
  return {};
}

base::Status read_ids(const gguf::File& file, VocabularyData& data) {
  const std::pair<std::string_view, std::optional<TokenId>*> ids[] = {
      {"tokenizer.ggml.bos_token_id", &data.bos},         {"tokenizer.ggml.eos_token_id", &data.eos},
      {"tokenizer.ggml.eot_token_id", &data.eot},         {"tokenizer.ggml.eom_token_id", &data.eom},
      {"tokenizer.ggml.unknown_token_id", &data.unknown}, {"tokenizer.ggml.padding_token_id", &data.padding}};
  for (const auto& [key, id] : ids) {
    if (auto status = read_id(file, key, data.tokens.size(), *id); !status) return status;
  }
  return {};
}

base::Status read_flags(const gguf::File& file, VocabularyData& data) {
  if (auto status = read_flag(file, "tokenizer.ggml.add_bos_token", data.add_bos); !status) return status;
  if (auto status = read_flag(file, "tokenizer.ggml.add_eos_token", data.add_eos); !status) return status;
  return read_flag(file, "tokenizer.ggml.add_space_prefix", data.add_space_prefix);
}

}  // namespace

base::Result<VocabularyData> read_vocabulary(const gguf::File& file) {
  VocabularyData data;
  const auto model = file.string("tokenizer.ggml.model");
  if (!model) return model.error();
  data.model = *model;
  if (auto status = read_string(file, "tokenizer.ggml.pre", data.pre); !status) return std::move(status.error());
  if (auto status = read_string(file, "general.name", data.model_name); !status) return std::move(status.error());
  if (auto status = read_strings(file, "tokenizer.ggml.tokens", data.tokens); !status) return std::move(status.error());
  if (data.model == "gpt2") {
    auto status = read_strings(file, "tokenizer.ggml.merges", data.merges);
    if (!status) return std::move(status.error());
  }
  if (auto status = read_scores(file, data); !status) return std::move(status.error());
  if (auto status = read_types(file, data); !status) return std::move(status.error());
  if (auto status = read_ids(file, data); !status) return std::move(status.error());
  if (auto status = read_flags(file, data); !status) return std::move(status.error());
  return data;
}

}  // namespace takt::text
