#include "server/http/exchange.h"

#include <algorithm>

namespace takt::server {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const {
  const auto is_same = [name](const auto& field) {
    return std::equal(name.begin(), name.end(), field.first.begin(), field.first.end(),
                      [](char a, char b) { return lower(a) == lower(b); });
  };
  const auto found = std::find_if(headers.begin(), headers.end(), is_same);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 204: return "No Content";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 417: return "Expectation Failed";
    case 431: return "Request Header Fields Too Large";
    case 499: return "Client Closed Request";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Status";
  }
}

}  // namespace takt::server
