#include "server/openai/api.h"
#include "server/openai/bounds_reply.h"

#include <chrono>
#include <exception>
#include <new>

#include "server/http/json_writer.h"
#include "server/http/origin.h"
#include "server/metrics/live_json.h"
#include "server/openai/generation_job.h"
#include "server/openai/live_stream.h"
#include "server/openai/text_endpoints.h"
#include "server/web/web_reply.h"

namespace takt::server {

// A path matches with and without "/v1" in front. One that ends in '/' (but for "/") matches everything below it.
struct Api::Route {
  std::string_view method;
  std::string_view path;
  Handler handler;
};

const std::vector<Api::Route>& Api::routes() {
  static const std::vector<Route> routes = {
      {"POST", "/completions", &Api::completions},
      {"POST", "/chat/completions", &Api::chat},
      {"POST", "/tokenize", &Api::tokenize_text},
      {"POST", "/detokenize", &Api::detokenize_ids},
      {"POST", "/apply-template", &Api::render_template},
      {"GET", "/models", &Api::list_models},
      {"GET", "/models/", &Api::show_model},
      {"GET", "/health", &Api::show_health},
      {"GET", "/metrics", &Api::show_metrics},
      {"GET", "/takt/bounds", &Api::show_bounds},
      {"GET", "/takt/live", &Api::stream_live},
      {"GET", "/takt/requests", &Api::list_requests},
      {"GET", "/takt/requests/", &Api::show_request},
      {"GET", "/", &Api::show_web_file},
      {"GET", "/chat", &Api::show_web_file},
      {"GET", "/web/", &Api::show_web_file},
  };
  return routes;
}

namespace {

bool matches(std::string_view pattern, std::string_view path) {
  if (pattern == path) return true;
  return pattern.size() > 1 && pattern.back() == '/' && path.size() > pattern.size() &&
         path.substr(0, pattern.size()) == pattern;
}

std::string_view without_version(std::string_view path) {
  if (path.substr(0, 4) == "/v1/") path.remove_prefix(3);
  return path;
}

std::string percent_decoded(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

ApiError unavailable(std::string code, std::string message) {
  ApiError error;
  error.status = 503;
  error.type = "unavailable_error";
  error.code = std::move(code);
  error.message = std::move(message);
  return error;
}

// Runs a function that may run out of memory: one request's failure must not be the server's.
template <class Function>
std::optional<ApiError> guarded(Function&& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return to_api_error({base::ErrorCode::out_of_memory, "not enough memory for this request"});
  } catch (const std::exception& exception) {
    return to_api_error({base::ErrorCode::internal, std::string("unexpected failure: ") + exception.what()});
  }
}

std::optional<ApiError> encode_prompts(const Backend& backend, PreparedGeneration& out) {
  using TokenIds = std::vector<contract::TokenId>;
  const GenerationRequest& request = out.request;
  std::string field = request.endpoint == Endpoint::chat ? "messages" : "prompt";
  const auto add = [&](base::Result<TokenIds> ids) -> std::optional<ApiError> {
    if (!ids) {
      ApiError error = to_api_error(ids.error());
      error.param = field;
      return error;
    }
    if (ids->empty()) return bad_field(field, "holds no token");
    out.prompts.push_back(std::make_shared<const TokenIds>(std::move(*ids)));
    return std::nullopt;
  };
  if (request.endpoint == Endpoint::chat) return add(backend.text.encode_chat(*request.chat_variables));
  for (const Prompt& prompt : request.prompts) {
    const std::string* text = std::get_if<std::string>(&prompt);
    auto error = add(text != nullptr ? backend.text.encode(*text, true, true) : std::get<TokenIds>(prompt));
    if (error) return error;
    if (request.echo)
      out.echo_texts.push_back(text != nullptr ? *text
                                               : replace_invalid_utf8(backend.text.decode(*out.prompts.back())));
  }
  return std::nullopt;
}

}  // namespace

Api::Api(ApiOptions options, std::shared_ptr<ServerMetrics> metrics)
    : options_(std::move(options)),
      metrics_(std::move(metrics)),
      started_unix_ms_(
          std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
              .count()) {}

void Api::set_backend(std::shared_ptr<const Backend> backend) {
  const std::lock_guard lock(mutex_);
  backend_ = std::move(backend);
}

std::shared_ptr<const Backend> Api::backend() const {
  const std::lock_guard lock(mutex_);
  return backend_;
}

std::shared_ptr<const Backend> Api::backend_or_refuse(Exchange& exchange) const {
  std::shared_ptr<const Backend> current = backend();
  if (current == nullptr) exchange.reply(error_reply(unavailable("loading_model", "the model is being loaded")));
  return current;
}

void Api::handle(std::shared_ptr<Exchange> exchange) {
  const auto error = guarded([&]() -> std::optional<ApiError> {
    dispatch(exchange);
    return std::nullopt;
  });
  if (error) exchange->reply(error_reply(*error));
}

void Api::dispatch(const std::shared_ptr<Exchange>& exchange) {
  const HttpRequest& request = exchange->request();
  const std::string_view origin = request.header("Origin");
  if (!origin.empty() &&
      !is_origin_allowed(origin, request.header("Host"), options_.allowed_origins, options_.is_loopback)) {
    ApiError error;
    error.status = 403;
    error.type = "permission_error";
    error.code = "origin_not_allowed";
    error.message = "web pages of this origin may not use the server";
    return exchange->reply(error_reply(error));
  }
  if (!origin.empty()) {
    exchange->reply_headers() = {{"Access-Control-Allow-Origin", std::string(origin)},
                                 {"Access-Control-Expose-Headers", "x-request-id"},
                                 {"Vary", "Origin"}};
  }
  const std::string_view path = without_version(request.path);
  if (!is_admitted(*exchange, path)) return;
  std::string allowed;
  for (const Route& route : routes()) {
    if (!matches(route.path, path)) continue;
    if (request.method == route.method || (request.method == "HEAD" && route.method == "GET")) {
      return (this->*route.handler)(exchange);
    }
    allowed += allowed.empty() ? "" : ", ";
    allowed += route.method == "GET" ? "GET, HEAD" : route.method;
  }
  if (!allowed.empty()) return reply_method_error(*exchange, allowed + ", OPTIONS");
  ApiError error = to_api_error({base::ErrorCode::not_found, "there is nothing at this path"});
  exchange->reply(error_reply(error));
}

// With API keys, only the web pages, the health and a browser's question before it sends need none. Answers 401 otherwise.
bool Api::is_admitted(Exchange& exchange, std::string_view path) const {
  HttpRequest& request = exchange.request();
  if (options_.keys.empty()) return true;
  const std::optional<Caller> caller = options_.keys.find(request.header("Authorization"));
  if (caller) request.caller = *caller;
  if (caller || is_web_path(path) || path == "/health" || request.method == "OPTIONS") return true;
  const bool has_key = !request.header("Authorization").empty();
  exchange.reply(error_reply(
      to_api_error({base::ErrorCode::unauthorized, has_key ? "the API key in 'Authorization: Bearer KEY' is not known"
                                                           : "an API key is needed: 'Authorization: Bearer KEY'"})));
  return false;
}

void Api::reply_method_error(Exchange& exchange, std::string_view allowed) const {
  HttpReply reply;
  if (exchange.request().method == "OPTIONS") {
    reply.status = 204;
    if (!exchange.request().header("Access-Control-Request-Method").empty()) {  // a browser asks before it sends
      reply.headers = {{"Access-Control-Allow-Methods", std::string(allowed)},
                       {"Access-Control-Allow-Headers", "Authorization, Content-Type, X-Request-Id"},
                       {"Access-Control-Max-Age", "600"}};
    }
  } else {
    ApiError error;
    error.status = 405;
    error.code = "method_not_allowed";
    error.message = "this path takes " + std::string(allowed);
    reply = error_reply(error);
  }
  reply.headers.emplace_back("Allow", allowed);
  exchange.reply(std::move(reply));
}

// Parsing, templates and tokenising are done in the background: a long prompt must not hold up others' streams.
void Api::generate(const std::shared_ptr<Exchange>& exchange, Endpoint endpoint) {
  if (is_draining_) {
    return exchange->reply(
        error_reply(unavailable("shutting_down", "the server is shutting down and takes no new requests")));
  }
  const std::shared_ptr<const Backend> backend = backend_or_refuse(*exchange);
  if (backend == nullptr) return;
  exchange->run_in_background([this, exchange, backend, endpoint] {
    auto prepared = std::make_shared<PreparedGeneration>();
    const std::optional<ApiError> error = guarded([&]() -> std::optional<ApiError> {
      const std::string body = std::move(exchange->request().body);
      auto failure = parse_generation_request(body, endpoint, options_.limits, backend->shape.vocabulary_size,
                                              backend->context_tokens, prepared->request);
      return failure ? failure : encode_prompts(*backend, *prepared);
    });
    prepared->request.chat_variables.reset();
    exchange->post([metrics = metrics_, exchange, backend, prepared, endpoint, error] {
      if (!exchange->is_open()) return;
      if (!error) return std::make_shared<GenerationJob>(exchange, backend, metrics, std::move(*prepared))->start();
      metrics->count_refusal(name(endpoint), error->code);
      exchange->reply(error_reply(*error));
    });
  });
}

void Api::run_text_function(const std::shared_ptr<Exchange>& exchange, TextFunction function) {
  const std::shared_ptr<const Backend> backend = backend_or_refuse(*exchange);
  if (backend == nullptr) return;
  exchange->run_in_background([exchange, backend, function] {
    HttpReply reply;
    const auto error = guarded([&]() -> std::optional<ApiError> {
      reply = function(exchange->request().body, *backend);
      return std::nullopt;
    });
    if (error) reply = error_reply(*error);
    exchange->post([exchange, reply = std::move(reply)] { exchange->reply(reply); });
  });
}

void Api::tokenize_text(const std::shared_ptr<Exchange>& exchange) { run_text_function(exchange, &tokenize); }
void Api::detokenize_ids(const std::shared_ptr<Exchange>& exchange) { run_text_function(exchange, &detokenize); }
void Api::render_template(const std::shared_ptr<Exchange>& exchange) { run_text_function(exchange, &apply_template); }

namespace {

void write_model(JsonWriter& json, const Backend& backend) {
  const contract::ModelShape& shape = backend.shape;
  json.begin_object().key("id").string(replace_invalid_utf8(backend.name));
  json.key("object").string("model").key("created").integer(backend.created).key("owned_by").string("takt");
  json.key("meta").begin_object();
  json.key("architecture").string(replace_invalid_utf8(shape.architecture));
  json.key("n_vocab").unsigned_integer(shape.vocabulary_size);
  json.key("n_ctx").unsigned_integer(backend.context_tokens);
  json.key("n_ctx_train").unsigned_integer(shape.context_train);
  json.key("n_embd").unsigned_integer(shape.embedding_length);
  json.key("n_layer").unsigned_integer(shape.layer_count);
  json.key("size").integer(shape.weight_bytes.count());
  json.key("numerics_version").string(replace_invalid_utf8(shape.numerics_version));
  json.end_object().end_object();
}

}  // namespace

void Api::list_models(const std::shared_ptr<Exchange>& exchange) {
  const std::shared_ptr<const Backend> backend = backend_or_refuse(*exchange);
  if (backend == nullptr) return;
  JsonWriter json;
  json.begin_object().key("object").string("list").key("data").begin_array();
  write_model(json, *backend);
  json.end_array().end_object();
  HttpReply reply;
  reply.body = json.take();
  exchange->reply(std::move(reply));
}

void Api::show_model(const std::shared_ptr<Exchange>& exchange) {
  const std::shared_ptr<const Backend> backend = backend_or_refuse(*exchange);
  if (backend == nullptr) return;
  const std::string id =
      percent_decoded(without_version(exchange->request().path).substr(std::string_view("/models/").size()));
  if (id != backend->name) {
    ApiError error = to_api_error({base::ErrorCode::not_found, "there is no model '" + id + "' here"});
    return exchange->reply(error_reply(error));
  }
  JsonWriter json;
  write_model(json, *backend);
  HttpReply reply;
  reply.body = json.take();
  exchange->reply(std::move(reply));
}

void Api::show_health(const std::shared_ptr<Exchange>& exchange) {
  if (is_draining_) return exchange->reply(error_reply(unavailable("shutting_down", "the server is shutting down")));
  if (backend_or_refuse(*exchange) == nullptr) return;
  HttpReply reply;
  reply.body = "{\"status\":\"ok\"}";
  exchange->reply(std::move(reply));
}

void Api::show_bounds(const std::shared_ptr<Exchange>& exchange) {
  const std::shared_ptr<const Backend> backend = backend_or_refuse(*exchange);
  if (backend == nullptr) return;
  HttpReply reply;
  reply.body = bounds_json(backend->port->bounds());
  exchange->reply(std::move(reply));
}

void Api::show_metrics(const std::shared_ptr<Exchange>& exchange) {
  const std::shared_ptr<const Backend> current = backend();
  HttpReply reply;
  reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
  reply.body = metrics_->render(current != nullptr ? std::optional(current->port->bounds()) : std::nullopt);
  exchange->reply(std::move(reply));
}

void Api::stream_live(const std::shared_ptr<Exchange>& exchange) {
  if (exchange->request().method == "HEAD") return exchange->reply({});
  LiveStream::Source source{[this] { return backend(); }, [this] { return is_draining_.load(); }, started_unix_ms_};
  std::make_shared<LiveStream>(exchange, metrics_, std::move(source))->start();
}

void Api::list_requests(const std::shared_ptr<Exchange>& exchange) {
  const std::shared_ptr<const Backend> current = backend();
  HttpReply reply;
  reply.body = requests_json(metrics_->live().recent(), current ? current->port->now() : base::Micros(0));
  exchange->reply(std::move(reply));
}

// By the id of the request or of its reply.
void Api::show_request(const std::shared_ptr<Exchange>& exchange) {
  std::string id =
      percent_decoded(without_version(exchange->request().path).substr(std::string_view("/takt/requests/").size()));
  std::optional<RequestTrace> trace = metrics_->live().find(id);
  for (const std::string_view prefix : {"chatcmpl-", "cmpl-"}) {
    if (!trace && std::string_view(id).substr(0, prefix.size()) == prefix)
      trace = metrics_->live().find(std::string_view(id).substr(prefix.size()));
  }
  const std::shared_ptr<const Backend> current = backend();
  if (!trace || current == nullptr) {
    return exchange->reply(error_reply(to_api_error(
        {base::ErrorCode::not_found, "no request '" + replace_invalid_utf8(id) + "' among the " +
                                         std::to_string(kRequestsKept) + " that ended last and those running"})));
  }
  HttpReply reply;
  reply.body = request_json(*trace, current->port->now(),
                            [this](contract::RequestId request) { return metrics_->live().public_id(request); });
  exchange->reply(std::move(reply));
}

void Api::show_web_file(const std::shared_ptr<Exchange>& exchange) {
  const HttpRequest& request = exchange->request();
  std::optional<HttpReply> reply = web_reply(without_version(request.path), request.header("If-None-Match"));
  if (reply) return exchange->reply(std::move(*reply));
  exchange->reply(error_reply(to_api_error({base::ErrorCode::not_found, "there is nothing at this path"})));
}

}  // namespace takt::server
