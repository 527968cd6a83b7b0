# cmake -DWEB=FOLDER -DOUT=FILE.cc -P embed_web.cmake: writes the web pages of a folder into one C++ file that defines
# takt::server::web_files() (src/server/web/web_files.h). The files are text; each keeps its bytes as a raw string literal.
file(GLOB_RECURSE files RELATIVE ${WEB} ${WEB}/*.html ${WEB}/*.css ${WEB}/*.js ${WEB}/*.svg)
list(SORT files)
set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")
set(path_index.html "/")
set(path_chat.html "/chat")

set(entries "")
foreach(file IN LISTS files)
  file(READ ${WEB}/${file} text)
  string(FIND "${text}" ")takt\"" closing)
  if(NOT closing EQUAL -1)
    message(FATAL_ERROR "${file} contains )takt\", which ends its literal")
  endif()
  file(SHA256 ${WEB}/${file} hash)
  string(SUBSTRING ${hash} 0 16 tag)  # 64 bits: enough to tell one version of a file from another
  get_filename_component(extension ${file} LAST_EXT)
  string(SUBSTRING ${extension} 1 -1 extension)
  set(path "/web/${file}")
  if(DEFINED path_${file})
    set(path "${path_${file}}")
  endif()
  string(APPEND entries "    {\"${path}\", \"${type_${extension}}\", \"\\\"${tag}\\\"\", R\"takt(${text})takt\"},\n")
endforeach()

file(WRITE ${OUT} "// Written by cmake/embed_web.cmake from the folder web/.
#include \"server/web/web_files.h\"

namespace takt::server {
namespace {
constexpr WebFile kFiles[] = {
${entries}};
}  // namespace
std::span<const WebFile> web_files() { return kFiles; }
}  // namespace takt::server
")
