// The drawing half of load_report.h.
#include <algorithm>
#include <cmath>

#include "load/load_report.h"
#include "svg_text.h"

namespace takt::apps {
namespace {

constexpr double kWidth = 760, kHeight = 640, kLeft = 84, kRight = 24, kChartHeight = 220;
// Blue and orange: told apart by readers who see no red or no green (Okabe and Ito's palette).
constexpr const char* kTypical = "#0072b2";
constexpr const char* kWorst = "#d55e00";

// One chart: milliseconds on a logarithmic axis of whole decades over the load.
class Chart {
 public:
  Chart(const LoadReport& report, double y_begin, const char* title, Distribution LoadSummary::*what,
        std::optional<base::Micros> limit)
      : report_(report), y_begin_(y_begin), title_(title), what_(what) {
    if (limit) limit_ms_ = static_cast<double>(limit->count()) / 1e3;
    double least = 1e12, most = 0;
    const auto take = [&](double ms) {
      if (ms <= 0) return;
      least = std::min(least, ms);
      most = std::max(most, ms);
    };
    for (const LoadPoint& point : report.points) {
      take((point.summary.*what).p50);
      take((point.summary.*what).p99);
    }
    take(limit_ms_);
    if (most == 0) least = most = 1;
    decade_low_ = std::floor(std::log10(least));
    decade_high_ = std::max(std::ceil(std::log10(most)), decade_low_ + 1);
    for (const LoadPoint& point : report.points) load_max_ = std::max(load_max_, point.load);
  }

  std::string draw() const {
    std::string out = frame();
    if (limit_ms_ > 0)
      out += print("<line class=\"limit\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", kLeft, y(limit_ms_),
                   kWidth - kRight, y(limit_ms_)) +
             text_at(kWidth - kRight, y(limit_ms_) - 5, "end", "class=\"note\"", print("limit %g ms", limit_ms_));
    return out + curve(kTypical, &Distribution::p50) + curve(kWorst, &Distribution::p99);
  }

 private:
  double x(double load) const { return kLeft + (kWidth - kLeft - kRight) * (load_max_ > 0 ? load / load_max_ : 0.5); }
  double y(double ms) const {
    return y_begin_ + kChartHeight * (1 - (std::log10(ms) - decade_low_) / (decade_high_ - decade_low_));
  }

  std::string frame() const {
    const double bottom = y_begin_ + kChartHeight;
    std::string out = text_at(kLeft, y_begin_ - 12, "start", "class=\"title\"", title_);
    for (double decade = decade_low_; decade <= decade_high_; ++decade) {
      for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor > 1 && decade == decade_high_) break;
        const double ms = factor * std::pow(10.0, decade);
        out += print("<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", kLeft, y(ms),
                     kWidth - kRight, y(ms));
        out += text_at(kLeft - 8, y(ms) + 4, "end", "", ms < 1000 ? print("%g ms", ms) : print("%g s", ms / 1000));
      }
    }
    for (const LoadPoint& point : report_.points) {
      out += print("<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x(point.load), bottom,
                   x(point.load), bottom + 5);
      out += text_at(x(point.load), bottom + 18, "middle", "", print("%.3g", point.load));
    }
    out += print("<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", kLeft, bottom,
                 kWidth - kRight, bottom);
    const char* axis = report_.process == "closed" ? "clients" : "requests/s";
    return out + text_at((kLeft + kWidth - kRight) / 2, bottom + 36, "middle", "", axis);
  }

  std::string curve(const char* colour, double Distribution::*level) const {
    std::vector<std::pair<double, double>> points;
    for (const LoadPoint& point : report_.points)
      if (const double ms = (point.summary.*what_).*level; ms > 0) points.emplace_back(x(point.load), y(ms));
    std::sort(points.begin(), points.end());
    std::string line, marks;
    for (const auto& [px, py] : points) {
      line += print("%.1f,%.1f ", px, py);
      marks += print("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n", px, py, colour);
    }
    return print("<polyline fill=\"none\" stroke-width=\"2\" stroke=\"%s\" points=\"", colour) + line + "\"/>\n" +
           marks;
  }

  const LoadReport& report_;
  double y_begin_;
  const char* title_;
  Distribution LoadSummary::*what_;
  double limit_ms_ = 0, decade_low_ = 0, decade_high_ = 1, load_max_ = 0;
};

std::string legend(double x, const char* colour, const char* text) {
  return print("<circle cx=\"%.1f\" cy=\"46\" r=\"4\" fill=\"%s\"/>\n", x, colour) +
         text_at(x + 10, 50, "start", "", text);
}

}  // namespace

std::string load_svg(const LoadReport& report) {
  std::string out = print(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n",
      kWidth, kHeight, kWidth, kHeight);
  out +=
      "<style>.title{font-size:14px;font-weight:bold}.grid{stroke:#e4e4e4}.axis{stroke:#333}.note{fill:#555}"
      ".limit{stroke:#555;stroke-dasharray:6 4}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  out += text_at(kLeft, 26, "start", "font-size=\"16\" font-weight=\"bold\"",
                 escaped(report.model + " at " + report.url + " (" + report.process + ")"));
  out += legend(kLeft, kTypical, "P50") + legend(kLeft + 70, kWorst, "P99");
  out +=
      Chart(report, 96, "time to first token, from the scheduled send", &LoadSummary::ttft, report.limits.ttft).draw();
  out += Chart(report, 384, "gap between tokens", &LoadSummary::itl, report.limits.itl_mean).draw();
  return out + "</svg>\n";
}

}  // namespace takt::apps
