// The text of SVG pictures.
#pragma once

#include <cstdio>
#include <string>

namespace takt::apps {

template <class... Arguments>
std::string print(const char* format, Arguments... arguments) {
  char text[512];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

inline std::string text_at(double x, double y, const char* anchor, const std::string& style, const std::string& text) {
  return print("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" %s>", x, y, anchor, style.c_str()) + text + "</text>\n";
}

// Text of others (a model's name comes from a file's) as text of a picture; control characters are left out.
inline std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out;
}

}  // namespace takt::apps
