#include "gguf/synth.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <span>
#include <utility>

#include "base/thread_pool.h"
#include "base/weight_format.h"
#include "gguf/block_encode.h"
#include "gguf/synth_vocabulary.h"
#include "gguf/writer.h"

namespace takt::gguf {
namespace {

using base::Error;
using base::ErrorCode;
using base::Status;
using base::WeightFormat;

struct Shape {
  std::string_view name;
  std::string_view architecture;
  std::string_view pre;  // pre-tokenizer; empty: an SPM vocabulary
  uint32_t layers, width, heads, kv_heads, head_dim, ffn, vocabulary, context;
  float rms_epsilon, rope_base;
  bool is_tied;  // no output.weight
  bool is_bos_added;
  bool has_rope_factors;    // rope_freqs.weight, Llama 3.1's long-context scaling
  uint32_t window;          // gemma3; 0: none
  uint32_t window_pattern;  // every n-th layer is global
};

// Shapes from the models' own files.
constexpr Shape kShapes[] = {
    {.name = "llama-3.1-8b",
     .architecture = "llama",
     .pre = "llama-bpe",
     .layers = 32,
     .width = 4096,
     .heads = 32,
     .kv_heads = 8,
     .head_dim = 128,
     .ffn = 14336,
     .vocabulary = 128256,
     .context = 131072,
     .rms_epsilon = 1e-5f,
     .rope_base = 500000.0f,
     .is_tied = false,
     .is_bos_added = true,
     .has_rope_factors = true,
     .window = 0,
     .window_pattern = 0},
    {.name = "smollm2-135m",
     .architecture = "llama",
     .pre = "smollm",
     .layers = 30,
     .width = 576,
     .heads = 9,
     .kv_heads = 3,
     .head_dim = 64,
     .ffn = 1536,
     .vocabulary = 49152,
     .context = 8192,
     .rms_epsilon = 1e-5f,
     .rope_base = 100000.0f,
     .is_tied = true,
     .is_bos_added = false,
     .has_rope_factors = false,
     .window = 0,
     .window_pattern = 0},
    {.name = "qwen2.5-0.5b",
     .architecture = "qwen2",
     .pre = "qwen2",
     .layers = 24,
     .width = 896,
     .heads = 14,
     .kv_heads = 2,
     .head_dim = 64,
     .ffn = 4864,
     .vocabulary = 151936,
     .context = 32768,
     .rms_epsilon = 1e-6f,
     .rope_base = 1000000.0f,
     .is_tied = false,
     .is_bos_added = false,
     .has_rope_factors = false,
     .window = 0,
     .window_pattern = 0},
    {.name = "qwen2.5-1.5b",
     .architecture = "qwen2",
     .pre = "qwen2",
     .layers = 28,
     .width = 1536,
     .heads = 12,
     .kv_heads = 2,
     .head_dim = 128,
     .ffn = 8960,
     .vocabulary = 151936,
     .context = 32768,
     .rms_epsilon = 1e-6f,
     .rope_base = 1000000.0f,
     .is_tied = false,
     .is_bos_added = false,
     .has_rope_factors = false,
     .window = 0,
     .window_pattern = 0},
    {.name = "gemma3-270m",
     .architecture = "gemma3",
     .pre = "",
     .layers = 18,
     .width = 640,
     .heads = 4,
     .kv_heads = 1,
     .head_dim = 256,
     .ffn = 2048,
     .vocabulary = 262144,
     .context = 32768,
     .rms_epsilon = 1e-6f,
     .rope_base = 1000000.0f,
     .is_tied = true,
     .is_bos_added = true,
     .has_rope_factors = false,
     .window = 512,
     .window_pattern = 6},
};

// Small, but with every feature of the model still there. Rows stay multiples of 256, so that each format fits, and
// gemma3 keeps heads × head_dim apart from the width.
Shape tiny(Shape shape) {
  const bool is_gemma = shape.architecture == "gemma3";
  shape.layers = is_gemma ? 4 : 2;
  shape.width = 256;
  shape.heads = is_gemma ? 8 : 4;
  shape.kv_heads = shape.kv_heads == 3 ? 1 : 2;
  shape.head_dim = 64;
  shape.ffn = 512;
  shape.vocabulary = 512;
  shape.context = 2048;
  if (!is_gemma) shape.pre = "gpt-2";
  if (is_gemma) shape.window = 16;
  if (is_gemma) shape.window_pattern = 2;
  return shape;
}

// How a tensor's numbers are drawn: mean + deviation × near-normal, the sign flipped at random when asked; or given
// outright.
struct Draw {
  float mean = 0.0f;
  float deviation = 0.0f;
  bool has_random_sign = false;
};

struct PlannedTensor {
  std::string name;
  std::vector<uint64_t> dims;
  WeightFormat format = WeightFormat::f32;
  Draw draw;
  std::vector<float> values;  // when not empty: instead of drawing
};

constexpr Draw kNormWeight = {1.0f, 0.3f, false};

struct Plan {
  Shape shape;
  WeightFormat format = WeightFormat::f32;
  bool is_mixture = false;  // Q4_K_M
  uint32_t file_type = 0;
  std::vector<PlannedTensor> tensors;
};

WeightFormat fitting(WeightFormat format, uint64_t row_length) {
  if (row_length % base::info(format).block_weights == 0) return format;
  switch (format) {
    case WeightFormat::q4_k: return WeightFormat::q5_0;
    case WeightFormat::q5_k: return WeightFormat::q5_1;
    case WeightFormat::q6_k: return WeightFormat::q8_0;
    default: return format;
  }
}

// The layers that a Q4_K_M file gives six bits in attn_v and ffn_down.
bool has_more_bits(uint32_t layer, uint32_t layers) {
  const uint32_t eighth = layers / 8;
  return layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
}

// Adds a matrix of [inputs, outputs] whose products with inputs of deviation 1 have the deviation `gain`.
void add_matrix(Plan& plan, std::string name, uint64_t inputs, uint64_t outputs, float gain, bool is_six_bit = false) {
  const WeightFormat wanted = plan.is_mixture && is_six_bit ? WeightFormat::q6_k : plan.format;
  const float deviation = gain / std::sqrt(static_cast<float>(inputs));
  plan.tensors.push_back({std::move(name), {inputs, outputs}, fitting(wanted, inputs), {0.0f, deviation, false}, {}});
}

void add_vector(Plan& plan, std::string name, uint64_t length, Draw draw) {
  plan.tensors.push_back({std::move(name), {length}, WeightFormat::f32, draw, {}});
}

// Llama 3.1 divides the frequency of rotary pair i by these: 8 above a wavelength of 8192, 1 below 2048, a linear
// blend in frequency between (Llama 3.1's published rope_scaling: factor 8, low 1, high 4, original context 8192). At
// tiny size nothing would reach such wavelengths; there the factors rise from 1 to 8.
std::vector<float> rope_factors(const Shape& shape, bool is_tiny) {
  const uint32_t pairs = shape.head_dim / 2;
  std::vector<float> factors(pairs);
  for (uint32_t i = 0; i < pairs; ++i) {
    if (is_tiny) {
      factors[i] = 1.0f + 7.0f * static_cast<float>(i) / static_cast<float>(pairs - 1);
      continue;
    }
    const double wavelength =
        2 * std::numbers::pi * std::pow(static_cast<double>(shape.rope_base), 2.0 * i / shape.head_dim);
    const double smooth = std::clamp((8192.0 / wavelength - 1.0) / (4.0 - 1.0), 0.0, 1.0);
    factors[i] = static_cast<float>(1.0 / ((1.0 - smooth) / 8.0 + smooth));
  }
  return factors;
}

void plan_layer(Plan& plan, uint32_t layer) {
  const Shape& shape = plan.shape;
  const std::string prefix = "blk." + std::to_string(layer) + ".";
  const uint64_t width = shape.width, q_width = shape.heads * shape.head_dim,
                 kv_width = shape.kv_heads * shape.head_dim;
  const bool is_qwen = shape.architecture == "qwen2", is_gemma = shape.architecture == "gemma3";
  const bool is_six_bit = has_more_bits(layer, shape.layers);
  // A score is a sum of head_dim products over √head_dim: its deviation is the product of q's and k's. Where norms
  // follow (gemma3) the norm weights set it, and a gain of 3 makes their absence show.
  const float qk_gain = is_gemma ? 3.0f : is_qwen ? 1.2f : 1.6f;
  add_vector(plan, prefix + "attn_norm.weight", width, kNormWeight);
  add_matrix(plan, prefix + "attn_q.weight", width, q_width, qk_gain);
  add_matrix(plan, prefix + "attn_k.weight", width, kv_width, qk_gain);
  add_matrix(plan, prefix + "attn_v.weight", width, kv_width, 1.5f, is_six_bit);
  if (is_qwen) {
    add_vector(plan, prefix + "attn_q.bias", q_width, {0.0f, 1.0f, false});
    add_vector(plan, prefix + "attn_k.bias", kv_width, {0.0f, 1.0f, false});
    add_vector(plan, prefix + "attn_v.bias", kv_width, {0.0f, 0.5f, false});
  }
  if (is_gemma) {
    add_vector(plan, prefix + "attn_q_norm.weight", shape.head_dim, {1.5f, 0.4f, false});
    add_vector(plan, prefix + "attn_k_norm.weight", shape.head_dim, {1.5f, 0.4f, false});
  }
  add_matrix(plan, prefix + "attn_output.weight", q_width, width, 1.5f);
  if (is_gemma) add_vector(plan, prefix + "post_attention_norm.weight", width, {1.3f, 0.3f, false});
  add_vector(plan, prefix + "ffn_norm.weight", width, kNormWeight);
  add_matrix(plan, prefix + "ffn_gate.weight", width, shape.ffn, 1.5f);
  add_matrix(plan, prefix + "ffn_up.weight", width, shape.ffn, 1.5f);
  add_matrix(plan, prefix + "ffn_down.weight", shape.ffn, width, 1.0f, is_six_bit);
  if (is_gemma) add_vector(plan, prefix + "post_ffw_norm.weight", width, {1.3f, 0.3f, false});
}

void plan_tensors(Plan& plan, bool is_tiny) {
  const Shape& shape = plan.shape;
  constexpr float kLogitDeviation = 2.5f;
  // Tied embeddings serve as the output matrix too; otherwise the residual stream starts with deviation 1.
  const float embedding_gain = shape.is_tied ? kLogitDeviation : std::sqrt(static_cast<float>(shape.width));
  add_matrix(plan, "token_embd.weight", shape.width, shape.vocabulary, embedding_gain, shape.is_tied);
  add_vector(plan, "output_norm.weight", shape.width, {1.0f, 0.3f, true});
  if (!shape.is_tied) add_matrix(plan, "output.weight", shape.width, shape.vocabulary, kLogitDeviation, true);
  if (shape.has_rope_factors)
    plan.tensors.push_back(
        {"rope_freqs.weight", {shape.head_dim / 2}, WeightFormat::f32, {}, rope_factors(shape, is_tiny)});
  for (uint32_t layer = 0; layer < shape.layers; ++layer) plan_layer(plan, layer);
}

// The general.file_type numbers of the specification.
uint32_t file_type_of(WeightFormat format) {
  switch (format) {
    case WeightFormat::f32: return 0;
    case WeightFormat::f16: return 1;
    case WeightFormat::q4_0: return 2;
    case WeightFormat::q4_1: return 3;
    case WeightFormat::q8_0: return 7;
    case WeightFormat::q5_0: return 8;
    case WeightFormat::q5_1: return 9;
    case WeightFormat::q4_k: return 14;
    case WeightFormat::q5_k: return 16;
    case WeightFormat::q6_k: return 18;
    case WeightFormat::bf16: return 32;
  }
  return 0;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::string joined(const std::vector<std::string_view>& names) {
  std::string out;
  for (const std::string_view name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

base::Result<Plan> plan_of(const SynthSpec& spec) {
  Plan plan;
  const auto shape =
      std::find_if(std::begin(kShapes), std::end(kShapes), [&](const Shape& s) { return s.name == spec.like; });
  if (shape == std::end(kShapes))
    return Error{ErrorCode::invalid_argument,
                 "unknown model '" + spec.like + "'; one of " + joined(synth_model_names())};
  plan.shape = spec.is_tiny ? tiny(*shape) : *shape;
  plan.is_mixture = equal_ignoring_case(spec.quant, "Q4_K_M");
  const auto format = plan.is_mixture ? WeightFormat::q4_k : base::weight_format_of_name(spec.quant);
  if (!format)
    return Error{ErrorCode::invalid_argument,
                 "unknown format '" + spec.quant + "'; one of " + joined(synth_quant_names())};
  plan.format = *format;
  plan.file_type = plan.is_mixture ? 15 : file_type_of(*format);
  plan_tensors(plan, spec.is_tiny);
  return plan;
}

void add_tokenizer(Writer& writer, const Shape& shape) {
  const SynthVocabulary vocabulary =
      shape.pre.empty() ? synth_spm_vocabulary(shape.vocabulary)
                        : synth_bpe_vocabulary(shape.vocabulary, std::string(shape.pre), shape.is_bos_added);
  writer.add_string("tokenizer.ggml.model", vocabulary.model);
  writer.add_string("tokenizer.ggml.pre", vocabulary.pre);
  writer.add_strings("tokenizer.ggml.tokens", vocabulary.tokens);
  if (!vocabulary.scores.empty()) writer.add_f32s("tokenizer.ggml.scores", vocabulary.scores);
  writer.add_i32s("tokenizer.ggml.token_type", vocabulary.types);
  if (!vocabulary.merges.empty()) writer.add_strings("tokenizer.ggml.merges", vocabulary.merges);
  writer.add_u32("tokenizer.ggml.bos_token_id", vocabulary.bos_id);
  writer.add_u32("tokenizer.ggml.eos_token_id", vocabulary.eos_id);
  if (shape.pre.empty()) {
    writer.add_u32("tokenizer.ggml.unknown_token_id", 3);
    writer.add_u32("tokenizer.ggml.padding_token_id", 0);
    writer.add_bool("tokenizer.ggml.add_space_prefix", false);
  }
  writer.add_bool("tokenizer.ggml.add_bos_token", vocabulary.is_bos_added);
  writer.add_string("tokenizer.chat_template", vocabulary.chat_template);
}

void add_metadata(Writer& writer, const SynthSpec& spec, const Plan& plan) {
  const Shape& shape = plan.shape;
  const std::string architecture(shape.architecture);
  const auto key = [&](std::string_view rest) { return architecture + "." + std::string(rest); };
  writer.add_string("general.architecture", architecture);
  writer.add_string("general.type", "model");
  writer.add_string("general.name",
                    "Synthetic " + spec.like + (spec.is_tiny ? " tiny" : "") + " seed " + std::to_string(spec.seed));
  writer.add_u32("general.file_type", plan.file_type);
  writer.add_u32("general.quantization_version", 2);
  writer.add_u32(key("vocab_size"), shape.vocabulary);
  writer.add_u32(key("context_length"), shape.context);
  writer.add_u32(key("embedding_length"), shape.width);
  writer.add_u32(key("block_count"), shape.layers);
  writer.add_u32(key("feed_forward_length"), shape.ffn);
  writer.add_u32(key("attention.head_count"), shape.heads);
  writer.add_u32(key("attention.head_count_kv"), shape.kv_heads);
  writer.add_f32(key("attention.layer_norm_rms_epsilon"), shape.rms_epsilon);
  writer.add_f32(key("rope.freq_base"), shape.rope_base);
  if (shape.heads * shape.head_dim != shape.width) {
    writer.add_u32(key("attention.key_length"), shape.head_dim);
    writer.add_u32(key("attention.value_length"), shape.head_dim);
  }
  if (architecture == "llama") writer.add_u32(key("rope.dimension_count"), shape.head_dim);
  if (shape.window != 0) {
    writer.add_u32(key("attention.sliding_window"), shape.window);
    if (spec.is_tiny) writer.add_u32(key("attention.sliding_window_pattern"), shape.window_pattern);
    writer.add_f32(key("rope.freq_base_swa"), 10000.0f);
  }
  add_tokenizer(writer, shape);
}

// A full-avalanche mixing of 64 bits (the finaliser of Steele, Lea and Flood's SplitMix64).
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t key_of(uint64_t seed, std::string_view name) {
  uint64_t key = mixed(seed);
  for (const char c : name) key = mixed(key ^ static_cast<unsigned char>(c));
  return key;
}

// Numbers first … first + count - 1 of a tensor. Counter-based, so that threads and chunks do not matter. The sum of
// four uniform 16-bit numbers is near-normal (within ±3.5 deviations); only exact integer sums and single float
// operations are used, so that every machine gives the same bits.
void draw_numbers(const Draw& draw, uint64_t key, uint64_t first, std::span<float> out) {
  constexpr float kMean = 131070.0f, kDeviation = 37837.23f;  // 4 × 65535 / 2, √(4 × (2^32 - 1) / 12)
  const float scale = draw.deviation / kDeviation;
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t bits = mixed(key + first + i);
    const auto sum =
        static_cast<int32_t>((bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48));
    const float value = draw.mean + (static_cast<float>(sum) - kMean) * scale;
    out[i] = draw.has_random_sign && ((bits ^ (bits >> 32)) & 1) != 0 ? -value : value;
  }
}

// One tensor's rows, generated and encoded by all threads in batches, and written in order.
Status write_tensor(Writer& writer, const PlannedTensor& tensor, uint64_t seed, base::ThreadPool& pool,
                    const std::function<void(uint64_t)>& advance) {
  const uint64_t row_length = tensor.dims[0], row_count = tensor.dims.size() > 1 ? tensor.dims[1] : 1;
  const base::WeightFormatInfo& info = base::info(tensor.format);
  const uint64_t row_bytes = row_length / info.block_weights * info.block_bytes;
  constexpr uint64_t kBatchBytes = 16 << 20;
  const uint64_t batch_rows = std::min(row_count, std::max<uint64_t>(1, kBatchBytes / row_bytes));
  const uint64_t key = key_of(seed, tensor.name);
  std::vector<std::byte> encoded(batch_rows * row_bytes);
  std::vector<std::vector<float>> rows(static_cast<size_t>(pool.thread_count()), std::vector<float>(row_length));
  for (uint64_t first = 0; first < row_count; first += batch_rows) {
    const uint64_t count = std::min(batch_rows, row_count - first);
    pool.split(static_cast<int64_t>(count), [&](int64_t begin, int64_t end, int thread) {
      std::vector<float>& row = rows[static_cast<size_t>(thread)];
      for (int64_t r = begin; r < end; ++r) {
        const uint64_t index = first + static_cast<uint64_t>(r);
        if (tensor.values.empty())
          draw_numbers(tensor.draw, key, index * row_length, row);
        else
          row = tensor.values;
        encode_row(tensor.format, row.data(), static_cast<int64_t>(row_length),
                   encoded.data() + static_cast<uint64_t>(r) * row_bytes);
      }
    });
    if (Status s = writer.write(std::span(encoded).first(count * row_bytes)); !s) return s;
    advance(count * row_bytes);
  }
  return {};
}

}  // namespace

std::vector<std::string_view> synth_model_names() {
  std::vector<std::string_view> names;
  for (const Shape& shape : kShapes) names.push_back(shape.name);
  return names;
}

std::vector<std::string_view> synth_quant_names() {
  std::vector<std::string_view> names;
  for (int i = 0; i < base::kWeightFormatCount; ++i) names.push_back(base::info(static_cast<WeightFormat>(i)).name);
  names.push_back("Q4_K_M");
  return names;
}

Status write_synthetic(const SynthSpec& spec, const std::string& path) {
  const base::Result<Plan> plan = plan_of(spec);
  if (!plan) return plan.error();
  base::Result<Writer> writer = Writer::create(path);
  if (!writer) return writer.error();
  add_metadata(*writer, spec, *plan);
  for (const PlannedTensor& tensor : plan->tensors)
    if (Status s = writer->add_tensor(tensor.name, tensor.format, tensor.dims); !s) return s;
  if (Status s = writer->begin_data(); !s) return s;
  base::ThreadPool pool(spec.thread_count);
  uint64_t done_bytes = 0;
  const auto advance = [&](uint64_t bytes) {
    done_bytes += bytes;
    if (spec.progress) spec.progress(done_bytes, writer->tensor_bytes());
  };
  for (const PlannedTensor& tensor : plan->tensors)
    if (Status s = write_tensor(*writer, tensor, spec.seed, pool, advance); !s) return s;
  return writer->finish();
}

}  // namespace takt::gguf
