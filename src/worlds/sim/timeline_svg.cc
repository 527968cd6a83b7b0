// The timeline as a picture.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <utility>

#include "worlds/sim/timeline.h"

namespace takt::worlds {
namespace {

using contract::RequestId;

// The layout, in pixels. From above: title, arrivals, prefill track, decode lanes, gaps, time axis, legend.
constexpr double kWidth = 1280;
constexpr double kLeft = 150, kRight = 1256;
constexpr double kTitleHeight = 34;
constexpr double kArrivalsHeight = 26;
constexpr double kPrefillHeight = 120;
constexpr double kDecodeHeight = 170;  // of all lanes, where they are many
constexpr double kLaneHeightMax = 16;
constexpr double kGapsHeight = 90;
constexpr double kSpace = 22;  // between two tracks
constexpr double kLegendRow = 18;
constexpr size_t kLegendColumns = 4, kLegendEntriesMax = 24;
constexpr double kBarWidthMin = 0.6;  // narrower steps are drawn together

// Twelve colours that stay apart beside each other, on white, and for most colour-blind people by their lightness.
constexpr std::array<const char*, 12> kColours = {"#2f6fb3", "#e0812c", "#3a9e5c", "#c23b4b", "#7d5ba6", "#8a6144",
                                                  "#d873b0", "#6f7d8c", "#b5ae2f", "#2aa7b5", "#1f3f66", "#f2b36b"};

[[gnu::format(printf, 2, 3)]] void append(std::string& text, const char* format, ...) {
  std::array<char, 600> piece;
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(piece.data(), piece.size(), format, arguments);
  va_end(arguments);
  text.append(piece.data(), std::min(static_cast<size_t>(std::max(length, 0)), piece.size() - 1));
}

// One or more steps, drawn as one bar.
struct Bar {
  base::Micros began, ended;
  std::vector<std::pair<RequestId, double>> chunks;  // tokens of each prompt
  std::vector<RequestId> decode_rows;
  base::Micros gap_max;  // of the tokens that came with it
};

// What a request looks like.
struct Look {
  size_t order = 0;  // of appearance in the window
  size_t lane = 0;   // among the decode rows
  bool has_lane = false;
};

class Picture {
 public:
  Picture(const Timeline& timeline, const TimelineWindow& window) : timeline_(timeline), window_(window) {
    for (const RequestRecord& record : timeline_.records) {
      const base::Micros end = record.finished.value_or(window_.until);
      const size_t order = looks_.size();
      if (record.arrival.at < window_.until && end >= window_.from) looks_[record.id].order = order;
    }
    make_bars();
    assign_lanes();
    place_tracks();
  }

  std::string draw() {
    append(svg_, R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" )", kWidth,
           height_, kWidth, height_);
    svg_ += "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222\">\n";
    append(svg_, "<rect width=\"%g\" height=\"%g\" fill=\"#fff\"/>\n", kWidth, height_);
    draw_title();
    draw_axis();
    draw_arrivals();
    draw_prefill();
    draw_decode();
    draw_gaps();
    draw_legend();
    return std::move(svg_) + "</svg>\n";
  }

 private:
  double x_of(base::Micros time) const {
    const double part = static_cast<double>((time - window_.from).count()) /
                        static_cast<double>((window_.until - window_.from).count());
    return kLeft + std::clamp(part, 0.0, 1.0) * (kRight - kLeft);
  }
  const char* colour_of(RequestId id) const {
    const auto found = looks_.find(id);
    return kColours[(found == looks_.end() ? 0 : found->second.order) % kColours.size()];
  }

  void make_bars() {
    std::map<RequestId, base::Micros> last_token;
    for (const RequestRecord& record : timeline_.records) {
      if (record.first_token) last_token[record.id] = *record.first_token;
    }
    for (const TimelineStep& step : timeline_.steps) {
      Bar bar{step.began, step.ended, {}, step.decode_rows, {}};
      for (const RequestId id : step.decode_rows) {
        const auto known = last_token.find(id);
        if (known == last_token.end()) continue;
        bar.gap_max = std::max(bar.gap_max, step.ended - known->second);
        known->second = step.ended;
      }
      if (step.ended <= window_.from || step.began >= window_.until) continue;
      for (const TimelineChunk& chunk : step.chunks) {
        bar.chunks.emplace_back(chunk.request, static_cast<double>(chunk.end - chunk.begin));
      }
      add_bar(std::move(bar));
    }
  }

  void add_bar(Bar bar) {
    const bool joins = !bars_.empty() && x_of(bars_.back().ended) - x_of(bars_.back().began) < kBarWidthMin &&
                       x_of(bar.began) - x_of(bars_.back().ended) < kBarWidthMin;
    if (!joins) {
      bars_.push_back(std::move(bar));
      return;
    }
    // Together they show the most that any of them had: what happened is seen, though not how often.
    Bar& into = bars_.back();
    into.ended = bar.ended;
    into.gap_max = std::max(into.gap_max, bar.gap_max);
    const auto tokens_of = [](const Bar& of) {
      double tokens = 0;
      for (const auto& chunk : of.chunks) tokens += chunk.second;
      return tokens;
    };
    if (tokens_of(bar) > tokens_of(into)) into.chunks = std::move(bar.chunks);
    for (const RequestId id : bar.decode_rows) {
      if (std::find(into.decode_rows.begin(), into.decode_rows.end(), id) == into.decode_rows.end()) {
        into.decode_rows.push_back(id);
      }
    }
  }

  // Each decoding request keeps one lane from its first row in the window to its last.
  void assign_lanes() {
    std::map<RequestId, std::pair<base::Micros, base::Micros>> spans;
    for (const Bar& bar : bars_) {
      for (const RequestId id : bar.decode_rows) {
        spans.try_emplace(id, bar.began, bar.ended).first->second.second = bar.ended;
      }
    }
    std::vector<std::pair<base::Micros, RequestId>> by_begin;
    for (const auto& [id, span] : spans) by_begin.emplace_back(span.first, id);
    std::sort(by_begin.begin(), by_begin.end());
    std::vector<base::Micros> lane_ends;
    for (const auto& [begin, id] : by_begin) {
      const auto free =
          std::find_if(lane_ends.begin(), lane_ends.end(), [from = begin](base::Micros end) { return end <= from; });
      Look& look = looks_[id];
      look.lane = static_cast<size_t>(free - lane_ends.begin());
      look.has_lane = true;
      if (free == lane_ends.end()) lane_ends.emplace_back();
      lane_ends[look.lane] = spans[id].second;
    }
    lane_count_ = std::max<size_t>(lane_ends.size(), 1);
  }

  void place_tracks() {
    lane_height_ = std::min(kLaneHeightMax, kDecodeHeight / static_cast<double>(lane_count_));
    prefill_top_ = kTitleHeight + kArrivalsHeight;
    decode_top_ = prefill_top_ + kPrefillHeight + kSpace;
    gaps_top_ = decode_top_ + lane_height_ * static_cast<double>(lane_count_) + kSpace;
    axis_ = gaps_top_ + kGapsHeight;
    legend_top_ = axis_ + 46;
    const size_t entries = std::min(looks_.size(), kLegendEntriesMax);
    const size_t rows = (entries + kLegendColumns - 1) / kLegendColumns;
    height_ = legend_top_ + kLegendRow * static_cast<double>(rows + (looks_.size() > entries ? 1 : 0)) + 6;
  }

  void text(double x, double y, const char* anchor, const char* style, const std::string& what) {
    append(svg_, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y, anchor, style, what.c_str());
  }
  void box(double x0, double x1, double y0, double y1, const char* colour) {
    append(svg_, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n", x0, y0, x1 - x0, y1 - y0,
           colour);
  }
  // A bar's right edge: with a hair of white behind it where it is wide enough, so that steps can be counted.
  double right_edge(const Bar& bar) const {
    const double x0 = x_of(bar.began), x1 = x_of(bar.ended);
    return x1 - x0 > 3 ? x1 - 0.7 : std::max(x1, x0 + kBarWidthMin);
  }

  void draw_title() {
    size_t steps = 0;
    for (const TimelineStep& step : timeline_.steps) {
      steps += step.ended > window_.from && step.began < window_.until ? 1 : 0;
    }
    std::string what;
    append(what, "%zu steps, %zu requests, %.2f s", steps, looks_.size(),
           static_cast<double>((window_.until - window_.from).count()) / 1e6);
    text(kLeft, 22, "start", " font-size=\"15\" font-weight=\"bold\"", "Prefill and decode, step by step");
    text(kRight, 22, "end", " fill=\"#666\"", what);
  }

  void label(double top, double height, const std::string& name, const std::string& unit) {
    text(kLeft - 44, top + height / 2 - 2, "end", " font-weight=\"bold\"", name);
    text(kLeft - 44, top + height / 2 + 13, "end", " font-size=\"10\" fill=\"#666\"", unit);
  }

  // Round numbers, 4 to 10 of them.
  static double tick_of(double span) {
    const double power = std::pow(10, std::floor(std::log10(span)));
    for (const double part : {0.1, 0.2, 0.5, 1.0}) {
      if (span / (power * part) <= 10) return power * part;
    }
    return power;
  }

  void draw_axis() {
    const double from = static_cast<double>(window_.from.count()) / 1e6;
    const double until = static_cast<double>(window_.until.count()) / 1e6;
    const double tick = tick_of(until - from);
    const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(tick) - 1e-9)), 0, 6);
    for (double at = std::ceil(from / tick - 1e-9) * tick; at <= until + tick * 1e-9; at += tick) {
      const double x = x_of(base::Micros(std::llround(at * 1e6)));
      append(svg_, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#e4e4e4\"/>\n", x, prefill_top_, axis_ + 5);
      std::string number;
      append(number, "%.*f", decimals, at);
      text(x, axis_ + 19, "middle", "", number);
    }
    append(svg_, "<path d=\"M%g %gH%g\" stroke=\"#888\"/>\n", kLeft, axis_, kRight);
    text(kLeft - 44, axis_ + 19, "end", " fill=\"#666\"", "time, s");
  }

  void draw_arrivals() {
    const double y = prefill_top_ - 4;
    double free_from = 0;
    for (const RequestRecord& record : timeline_.records) {
      if (record.arrival.at < window_.from || record.arrival.at >= window_.until) continue;
      const double x = x_of(record.arrival.at);
      append(svg_, "<path d=\"M%.1f %.1fl-4 -7h8z\" fill=\"%s\"/>\n", x, y, colour_of(record.id));
      if (x < free_from) continue;
      std::string name;
      append(name, "%llu", static_cast<unsigned long long>(record.id.value));
      text(x, y - 9, "middle", " font-size=\"10\"", name);
      free_from = x + 8 + 6 * static_cast<double>(name.size());
    }
    text(kLeft - 44, y - 1, "end", " font-size=\"10\" fill=\"#666\"", "arrivals");
  }

  void draw_prefill() {
    double tokens_max = 1;
    for (const Bar& bar : bars_) {
      double tokens = 0;
      for (const auto& chunk : bar.chunks) tokens += chunk.second;
      tokens_max = std::max(tokens_max, tokens);
    }
    const double bottom = prefill_top_ + kPrefillHeight;
    for (const Bar& bar : bars_) {
      double y = bottom;
      for (const auto& [id, tokens] : bar.chunks) {
        const double height = tokens / tokens_max * kPrefillHeight;
        box(x_of(bar.began), right_edge(bar), y - height, y, colour_of(id));
        y -= height;
      }
    }
    frame(prefill_top_, bottom);
    label(prefill_top_, kPrefillHeight, "prefill", "tokens");
    std::string most;
    append(most, "%.0f", tokens_max);
    text(kLeft - 6, prefill_top_ + 9, "end", " font-size=\"10\"", most);
    text(kLeft - 6, bottom, "end", " font-size=\"10\"", "0");
  }

  void draw_decode() {
    const double hair = lane_height_ > 4 ? 1 : 0;
    // What neighbours of one lane share is one box, unless they are wide enough to be told apart.
    std::map<RequestId, std::pair<double, double>> open;
    const auto close = [&](RequestId id, std::pair<double, double> span) {
      const double y = decode_top_ + lane_height_ * static_cast<double>(looks_[id].lane);
      box(span.first, span.second, y + hair, y + lane_height_, colour_of(id));
    };
    for (const Bar& bar : bars_) {
      const double x0 = x_of(bar.began), x1 = right_edge(bar);
      for (const RequestId id : bar.decode_rows) {
        const auto [known, is_new] = open.try_emplace(id, x0, x1);
        if (is_new) continue;
        if (x0 - known->second.second < 0.5) {
          known->second.second = x1;
        } else {
          close(id, known->second);
          known->second = {x0, x1};
        }
      }
    }
    for (const auto& [id, span] : open) close(id, span);
    const double bottom = decode_top_ + lane_height_ * static_cast<double>(lane_count_);
    frame(decode_top_, bottom);
    label(decode_top_, bottom - decode_top_, "decode", "one lane a request");
  }

  void draw_gaps() {
    double most = 1;
    for (const Bar& bar : bars_) most = std::max(most, static_cast<double>(bar.gap_max.count()) / 1e3);
    for (const Bar& bar : bars_) {
      if (bar.gap_max.count() == 0) continue;
      const double height = static_cast<double>(bar.gap_max.count()) / 1e3 / most * kGapsHeight;
      box(x_of(bar.began), right_edge(bar), axis_ - height, axis_, "#9aa4ae");
    }
    frame(gaps_top_, axis_);
    label(gaps_top_, kGapsHeight, "gap", "longest, ms");
    std::string number;
    append(number, most >= 100 ? "%.0f" : "%.1f", most);
    text(kLeft - 6, gaps_top_ + 9, "end", " font-size=\"10\"", number);
    text(kLeft - 6, axis_ - 1, "end", " font-size=\"10\"", "0");
  }

  void frame(double top, double bottom) {
    append(svg_, "<path d=\"M%g %gH%gV%gH%gz\" fill=\"none\" stroke=\"#bbb\"/>\n", kLeft, top, kRight, bottom, kLeft);
  }

  void draw_legend() {
    size_t shown = 0;
    for (const RequestRecord& record : timeline_.records) {
      const auto found = looks_.find(record.id);
      if (found == looks_.end() || shown == kLegendEntriesMax) continue;
      const double x = kLeft + (kRight - kLeft) / kLegendColumns * static_cast<double>(shown % kLegendColumns);
      const double y = legend_top_ + kLegendRow * static_cast<double>(shown / kLegendColumns);
      box(x, x + 12, y - 10, y + 2, colour_of(record.id));
      std::string what;
      append(what, "%llu: %u in, %u out, %s%s", static_cast<unsigned long long>(record.id.value),
             record.arrival.prompt_tokens, record.output_tokens,
             std::string(contract::name(record.arrival.service_class)).c_str(), record.is_refused ? ", refused" : "");
      text(x + 18, y, "start", " font-size=\"11\"", what);
      ++shown;
    }
    if (looks_.size() <= shown) return;
    std::string rest;
    append(rest, "and %zu more; the colours repeat", looks_.size() - shown);
    const double y = legend_top_ + kLegendRow * std::ceil(static_cast<double>(shown) / kLegendColumns);
    text(kLeft, y, "start", " font-size=\"11\" fill=\"#666\"", rest);
  }

  const Timeline& timeline_;
  TimelineWindow window_;
  std::map<RequestId, Look> looks_;
  std::vector<Bar> bars_;
  size_t lane_count_ = 1;
  double lane_height_ = 0, prefill_top_ = 0, decode_top_ = 0, gaps_top_ = 0, axis_ = 0, legend_top_ = 0, height_ = 0;
  std::string svg_;
};

}  // namespace

std::string to_svg(const Timeline& timeline, const TimelineWindow& window) { return Picture(timeline, window).draw(); }

}  // namespace takt::worlds
