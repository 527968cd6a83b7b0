#include "server/web/web_reply.h"

#include <algorithm>

#include "server/web/web_files.h"

namespace takt::server {
namespace {

// Nothing inline, nothing from elsewhere, nobody frames the pages: what a model writes can at most be shown.
constexpr std::string_view kPolicy =
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// Whether one of the tags of If-None-Match is `etag`, compared weakly (RFC 9110, 13.1.2). Our tags hold no comma.
bool is_listed(std::string_view header, std::string_view etag) {
  while (!header.empty()) {
    std::string_view tag = header.substr(0, header.find(','));
    header.remove_prefix(std::min(header.size(), tag.size() + 1));
    while (!tag.empty() && (tag.front() == ' ' || tag.front() == '\t')) tag.remove_prefix(1);
    while (!tag.empty() && (tag.back() == ' ' || tag.back() == '\t')) tag.remove_suffix(1);
    if (tag.starts_with("W/")) tag.remove_prefix(2);
    if (tag == etag || tag == "*") return true;
  }
  return false;
}

}  // namespace

bool is_web_path(std::string_view path) { return path == "/" || path == "/chat" || path.starts_with("/web/"); }

std::optional<HttpReply> web_reply(std::string_view path, std::string_view if_none_match) {
  const auto files = web_files();
  const auto file = std::find_if(files.begin(), files.end(), [path](const WebFile& f) { return f.path == path; });
  if (file == files.end()) return std::nullopt;
  HttpReply reply;
  // "no-cache": kept, but asked about each time, so that a page and its modules are always of one version of the program.
  reply.headers = {{"Cache-Control", "no-cache"},
                   {"ETag", std::string(file->etag)},
                   {"Content-Security-Policy", std::string(kPolicy)},
                   {"Referrer-Policy", "no-referrer"},
                   {"Cross-Origin-Opener-Policy", "same-origin"},
                   {"Cross-Origin-Resource-Policy", "same-origin"}};
  reply.content_type = std::string(file->content_type);
  if (is_listed(if_none_match, file->etag)) {
    reply.status = 304;
  } else {
    reply.body = std::string(file->bytes);
  }
  return reply;
}

}  // namespace takt::server
