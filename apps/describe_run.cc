#include "describe_run.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "model/arch/architecture.h"
#include "model/model.h"

namespace takt::apps {
namespace {

struct FormatUse {
  int64_t tensors = 0;
  int64_t packed_bytes = 0;  // what the kernels keep in memory; the file's bytes when they read it in place
};

// The matrices of a file by format. Nothing: a tensor has a type without kernels, and `why_not` names it.
bool collect_formats(const gguf::File& file, const kernels::KernelSet& kernel_set,
                     std::map<base::WeightFormat, FormatUse>& uses, std::string& why_not) {
  for (const gguf::Tensor& tensor : file.tensors()) {
    const auto format = tensor.format();
    if (!format) {
      why_not = "tensor '" + std::string(tensor.name) + "' has the type " + gguf::tensor_type_name(tensor.type) +
                ", which has no kernels yet";
      return false;
    }
    // Vectors are decoded once. An embedding beside an output matrix is read row by row from the file.
    if (tensor.dim_count != 2 || (tensor.name == "token_embd.weight" && file.find_tensor("output.weight") != nullptr))
      continue;
    const size_t packed =
        kernel_set.packed_bytes(*format, static_cast<int64_t>(tensor.dims[1]), static_cast<int64_t>(tensor.dims[0]));
    FormatUse& use = uses[*format];
    ++use.tensors;
    use.packed_bytes += static_cast<int64_t>(packed > 0 ? packed : tensor.bytes.size());
  }
  return true;
}

std::string activation_name(const kernels::KernelSet& kernel_set, base::WeightFormat format) {
  return kernel_set.activation_kind(format) == kernels::ActivationKind::q8 ? "int8, blocks of 32" : "float32";
}

std::string kv_text(const boost::json::object& run, base::KvFormats kv) {
  const int64_t f16_layers = run.at("kv_keys_f16_layers").as_int64();
  std::string text =
      "keys " + std::string(base::kv_format_name(kv.keys)) + ", values " + std::string(base::kv_format_name(kv.values));
  if (f16_layers > 0) text += ", keys of " + std::to_string(f16_layers) + " layers f16 for their large bias";
  return text;
}

std::string megabytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

}  // namespace

boost::json::object describe_run_json(const gguf::File& file, const kernels::KernelSet& kernel_set, base::KvFormats kv,
                                      uint32_t context_tokens) {
  std::map<base::WeightFormat, FormatUse> uses;
  std::string why_not;
  auto spec = model::read_network_spec(file);
  if (!spec) why_not = spec.error().message;
  if (spec)
    if (auto status = model::check_weights(file, *spec); !status) why_not = status.error().message;
  if (spec)
    if (auto status = model::check_kv_formats(*spec, kernel_set, kv); !status && why_not.empty())
      why_not = status.error().message;
  if (!why_not.empty() || !collect_formats(file, kernel_set, uses, why_not))
    return {{"can_run", false}, {"why_not", why_not}};
  const contract::ModelShape shape = model::model_shape(file, *spec, kernel_set, kv);
  if (context_tokens == 0) context_tokens = shape.context_train;
  int64_t f16_layers = 0;  // whose keys stay in f16 beside others in q8_0
  for (const base::KvFormats& layer : model::layer_kv_formats(file, *spec, kv)) f16_layers += layer.keys != kv.keys;
  boost::json::array formats;
  int64_t weight_bytes = 0;
  for (const auto& [format, use] : uses) {
    formats.push_back(boost::json::object{{"type", std::string(base::info(format).name)},
                                          {"tensors", use.tensors},
                                          {"activations", activation_name(kernel_set, format)},
                                          {"packed_bytes", use.packed_bytes}});
    weight_bytes += use.packed_bytes;
  }
  return {{"can_run", true},
          {"kernels", std::string(kernel_set.name)},
          {"formats", std::move(formats)},
          {"weight_bytes", weight_bytes},
          {"context_tokens", context_tokens},
          {"kv_keys", std::string(base::kv_format_name(kv.keys))},
          {"kv_values", std::string(base::kv_format_name(kv.values))},
          {"kv_keys_f16_layers", f16_layers},
          {"kv_bytes_per_token", shape.kv_bytes_per_token.count()},
          {"kv_bytes", shape.kv_bytes_per_token.count() * context_tokens}};
}

std::string describe_run(const gguf::File& file, const kernels::KernelSet& kernel_set, base::KvFormats kv,
                         uint32_t context_tokens) {
  const boost::json::object run = describe_run_json(file, kernel_set, kv, context_tokens);
  if (!run.at("can_run").as_bool()) return "cannot be run: " + std::string(run.at("why_not").as_string()) + "\n";
  std::string text =
      "kernels: " + std::string(run.at("kernels").as_string()) + " (" + std::string(kernel_set.description) + ")\n";
  char line[240];
  for (const auto& entry : run.at("formats").as_array()) {
    const auto& format = entry.as_object();
    std::snprintf(line, sizeof line, "  %-5s %4lld matrices × activations in %s, %s in memory\n",
                  format.at("type").as_string().c_str(), static_cast<long long>(format.at("tensors").as_int64()),
                  format.at("activations").as_string().c_str(),
                  megabytes(format.at("packed_bytes").as_int64()).c_str());
    text += line;
  }
  std::snprintf(line, sizeof line,
                "memory for a context of %lld tokens: weights %s + KV cache %s (%lld bytes a token; %s)\n",
                static_cast<long long>(run.at("context_tokens").to_number<int64_t>()),
                megabytes(run.at("weight_bytes").as_int64()).c_str(), megabytes(run.at("kv_bytes").as_int64()).c_str(),
                static_cast<long long>(run.at("kv_bytes_per_token").as_int64()), kv_text(run, kv).c_str());
  return text + line;
}

}  // namespace takt::apps
