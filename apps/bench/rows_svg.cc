// The drawing half of rows.h.
#include <algorithm>
#include <cmath>
#include <functional>

#include "bench/rows.h"
#include "svg_text.h"

namespace takt::apps {
namespace {

constexpr double kWidth = 760, kHeight = 700;
constexpr double kLeft = 72, kRight = 24, kChartHeight = 240;
constexpr const char* kMeasured = "#1f5fa8";
constexpr const char* kPredicted = "#c0562f";

// 1, 2 or 5 × a power of ten, so that an axis to `top` has four to ten of them.
double tick_step(double top) {
  const double power = std::pow(10.0, std::floor(std::log10(top)));
  for (const double factor : {0.1, 0.2, 0.5})
    if (top / (power * factor) <= 10) return power * factor;
  return power;
}

class Chart {
 public:
  Chart(const RowsReport& report, double y_begin, const char* title,
        std::function<double(const RowsPoint&, bool)> value)
      : report_(report), y_begin_(y_begin), title_(title), value_(std::move(value)) {
    double most = 1e-9;
    for (const RowsPoint& point : report.points) most = std::max({most, value_(point, false), value_(point, true)});
    step_ = tick_step(most);
    top_ = std::ceil(most / step_) * step_;
  }

  std::string draw() const {
    return frame() + knee(report_.knee_predicted, kPredicted, "roofline", 26) +
           knee(report_.knee_measured, kMeasured, "measured", 10) + curve(true) + curve(false);
  }

 private:
  double rows_max() const { return std::max(2.0, static_cast<double>(report_.points.back().rows)); }
  double x(double rows) const {
    return kLeft + (kWidth - kLeft - kRight) * std::log2(std::max(1.0, rows)) / std::log2(rows_max());
  }
  double y(double value) const { return y_begin_ + kChartHeight * (1 - value / top_); }

  std::string frame() const {
    const double bottom = y_begin_ + kChartHeight;
    std::string out = text_at(kLeft, y_begin_ - 12, "start", "class=\"title\"", title_);
    for (int i = 0; i * step_ <= top_ * 1.0001; ++i) {
      const double at = y(i * step_);
      out += print("<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", kLeft, at,
                   kWidth - kRight, at);
      out += text_at(kLeft - 8, at + 4, "end", "", print("%g", i * step_));
    }
    for (double rows = 1; rows <= rows_max(); rows *= 2) {
      out += print("<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x(rows), bottom, x(rows),
                   bottom + 5);
      out += text_at(x(rows), bottom + 19, "middle", "", print("%g", rows));
    }
    out += print("<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", kLeft, bottom,
                 kWidth - kRight, bottom);
    return out + text_at((kLeft + kWidth - kRight) / 2, bottom + 37, "middle", "", "rows decoding together");
  }

  std::string knee(double rows, const char* colour, const char* who, double label_above) const {
    if (rows <= 1 || rows >= rows_max()) return {};
    const bool is_right = x(rows) > kWidth * 0.7;
    return print(
               "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"1\" "
               "stroke-dasharray=\"2 3\"/>\n",
               x(rows), y_begin_, x(rows), y_begin_ + kChartHeight, colour) +
           text_at(x(rows) + (is_right ? -6 : 6), y_begin_ + kChartHeight - label_above, is_right ? "end" : "start",
                   print("class=\"knee\" fill=\"%s\"", colour), print("knee, %s: %.1f", who, rows));
  }

  std::string curve(bool is_prediction) const {
    std::string points, marks;
    for (const RowsPoint& point : report_.points) {
      const double value = value_(point, is_prediction);
      if (value <= 0) continue;
      const double px = x(static_cast<double>(point.rows)), py = y(value);
      points += print("%.1f,%.1f ", px, py);
      if (!is_prediction)
        marks += print("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n", px, py, kMeasured);
    }
    return "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"" +
           std::string(is_prediction ? kPredicted : kMeasured) +
           (is_prediction ? "\" stroke-dasharray=\"7 4\" points=\"" : "\" points=\"") + points + "\"/>\n" + marks;
  }

  const RowsReport& report_;
  double y_begin_;
  const char* title_;
  std::function<double(const RowsPoint&, bool)> value_;
  double step_ = 1, top_ = 1;
};

std::string legend_entry(double x, double y, const char* colour, const char* dashes, const char* text) {
  return print(
             "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"2\" "
             "stroke-dasharray=\"%s\"/>\n",
             x, y - 4, x + 30, y - 4, colour, dashes) +
         text_at(x + 36, y, "start", "", text);
}

}  // namespace

std::string rows_svg(const RowsReport& report) {
  const auto speed = [](const RowsPoint& point, bool is_prediction) {
    return is_prediction ? point.predicted_tokens_per_s : point.tokens_per_s;
  };
  std::string out = print(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" "
      "font-family=\"sans-serif\" "
      "font-size=\"12\" fill=\"#333\">\n",
      kWidth, kHeight, kWidth, kHeight);
  out +=
      "<style>.title{font-size:14px;font-weight:bold}.grid{stroke:#ddd}.axis{stroke:#333}"
      ".knee{paint-order:stroke;stroke:white;stroke-width:4px}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  out += text_at(
      kLeft, 26, "start", "font-size=\"16\" font-weight=\"bold\"",
      escaped(report.model) + print(": decode against rows (%s, %d threads, depth %lld)", report.kernel_set.c_str(),
                                    report.threads, static_cast<long long>(report.depth)));
  out += legend_entry(kLeft, 50, kMeasured, "none", "measured");
  out += legend_entry(kLeft + 130, 50, kPredicted, "7 4", "roofline of this machine's measured ceilings");
  out += Chart(report, 92, "all rows together, tokens/s", speed).draw();
  out += Chart(report, 412, "each user, tokens/s", [&](const RowsPoint& point, bool is_prediction) {
           return speed(point, is_prediction) / static_cast<double>(point.rows);
         }).draw();
  return out + "</svg>\n";
}

}  // namespace takt::apps
