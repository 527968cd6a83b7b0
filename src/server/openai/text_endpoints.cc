#include "server/openai/text_endpoints.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "server/http/json_writer.h"
#include "server/openai/chat_fields.h"
#include "server/openai/fields.h"
#include "text/utf8.h"

namespace takt::server {

namespace json = boost::json;

namespace {

void write_piece(JsonWriter& out, const std::string& bytes) {
  if (text::utf8_valid_prefix(bytes) == bytes.size()) return static_cast<void>(out.string(bytes));
  out.begin_array();
  for (const char c : bytes) out.integer(static_cast<unsigned char>(c));
  out.end_array();
}

HttpReply ok(JsonWriter& out) {
  HttpReply reply;
  reply.body = out.take();
  return reply;
}

}  // namespace

HttpReply tokenize(std::string_view body, const Backend& backend) {
  std::optional<ApiError> error;
  const json::value document = parse_json_object(body, error);
  if (error) return error_reply(*error);
  FieldReader reader(document.get_object(), error);
  const std::string_view content = reader.string("content").value_or("");
  if (reader.find("content") == nullptr) reader.fail("content", "is missing");
  const bool add_special = reader.boolean("add_special").value_or(false);
  const bool parse_special = reader.boolean("parse_special").value_or(true);
  const bool with_pieces = reader.boolean("with_pieces").value_or(false);
  // A piece takes some 30 bytes of reply for each byte of content.
  constexpr size_t kContentBytesMaxWithPieces = size_t{1} << 20;
  if (with_pieces && content.size() > kContentBytesMaxWithPieces) reader.fail("content", "may have 1 MiB with pieces");
  if (error) return error_reply(*error);
  const auto ids = backend.text.encode(content, add_special, parse_special);
  if (!ids) return error_reply(to_api_error(ids.error()));
  JsonWriter out;
  out.begin_object().key("tokens").begin_array();
  for (const contract::TokenId id : *ids) {
    if (!with_pieces) {
      out.integer(id);
      continue;
    }
    out.begin_object().key("id").integer(id).key("piece");
    write_piece(out, backend.text.token_bytes(id));
    out.end_object();
  }
  out.end_array().end_object();
  return ok(out);
}

HttpReply detokenize(std::string_view body, const Backend& backend) {
  std::optional<ApiError> error;
  const json::value document = parse_json_object(body, error);
  if (error) return error_reply(*error);
  FieldReader reader(document.get_object(), error);
  const json::array* tokens = reader.array("tokens");
  if (tokens == nullptr) reader.fail("tokens", "is missing");
  std::vector<contract::TokenId> ids;
  if (tokens != nullptr) {
    for (const json::value& value : *tokens) {
      const std::optional<int64_t> id = as_integer(value);
      if (!id || *id < 0 || *id >= static_cast<int64_t>(backend.shape.vocabulary_size)) {
        reader.fail("tokens", "must be a list of token ids from 0 to " +
                                  std::to_string(int64_t{backend.shape.vocabulary_size} - 1));
        break;
      }
      ids.push_back(static_cast<contract::TokenId>(*id));
    }
  }
  if (error) return error_reply(*error);
  JsonWriter out;
  out.begin_object().key("content").string(replace_invalid_utf8(backend.text.decode(ids))).end_object();
  return ok(out);
}

HttpReply apply_template(std::string_view body, const Backend& backend) {
  std::optional<ApiError> error;
  const json::value document = parse_json_object(body, error);
  if (error) return error_reply(*error);
  FieldReader reader(document.get_object(), error);
  const json::object variables = read_chat(reader);
  if (error) return error_reply(*error);
  const auto prompt = backend.text.render_chat(variables);
  if (!prompt) return error_reply(to_api_error(prompt.error()));
  JsonWriter out;
  out.begin_object().key("prompt").string(replace_invalid_utf8(*prompt)).end_object();
  return ok(out);
}

}  // namespace takt::server
