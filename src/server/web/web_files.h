// The files of the web pages, as they are in the program. Defined by a file that the build writes from the folder web/.
#pragma once

#include <span>
#include <string_view>

namespace takt::server {

struct WebFile {
  std::string_view path;  // "/", "/chat", "/web/js/chat.js"
  std::string_view content_type;
  std::string_view etag;  // with its quotes; differs whenever the bytes do
  std::string_view bytes;
};

// All of them, each path once.
std::span<const WebFile> web_files();

}  // namespace takt::server
