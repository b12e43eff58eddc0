// Axes, roofs, marks, list.
// Everything is drawn from back to front into one string; text from outside is escaped.
#include "cli/roofline_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

namespace quern::cli {
namespace {

// The plot inside the picture, in pixels.
constexpr double kLeft = 70, kTop = 56, kWidth = 640, kHeight = 420;
// The list begins below the labels of the axis.
constexpr double kListTop = kTop + kHeight + 70;
constexpr double kLineHeight = 17;

// Colours that people who see few colours tell apart; groups beyond them share the last.
constexpr std::string_view kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                         "#e69f00", "#56b4e9", "#666666"};

// Text of elements; attributes hold no text from outside.
std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// A decimal logarithmic axis over whole powers of ten.
struct Axis {
  double low = 0;  // exponents
  double high = 1;
  double origin = 0;  // pixels at `low`
  // Pixels grow downwards in SVG.
  double length = 0;  // pixels to `high`; negative: upwards

  // Pixels of a value above 0.
  double at(double value) const {
    return origin + (std::log10(value) - low) / (high - low) * length;
  }
};

// Smallest and largest of what was added; 0: nothing yet.
struct Bounds {
  double low = 0;
  double high = 0;
  // Values that have no logarithm are left out.
  void add(double value) {
    if (value <= 0) return;
    low = low == 0 ? value : std::min(low, value);
    high = std::max(high, value);
  }
};

// Puts the document together, from back to front. One picture each.
class Picture {
 public:
  // Borrows roofs and points.
  Picture(std::string_view title, const DeviceRoof& roofs, std::span<const RooflinePoint> points)
      : roofs_(roofs), points_(points) {
    set_axes();
    const double height = kListTop + kLineHeight * static_cast<double>(points.size()) + 20;
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 {:.0f}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        height);
    text(kLeft, 26, escape(title), "font-size=\"15\" font-weight=\"bold\"");
  }

  std::string draw() {
    draw_grid();
    draw_roofs();
    for (size_t i = 0; i < points_.size(); ++i) draw_point(i);
    draw_list();
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  // Appends elements.
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  void text(double x, double y, std::string_view content, std::string_view style = "") {
    add("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, style, content);
  }
  void line(double x0, double y0, double x1, double y1, std::string_view style) {
    add("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x0, y0, x1, y1,
        style);
  }

  // A product with its addition counts as two operations.
  double int8_roof() const { return roofs_.int_ops_per_second; }
  // Rates in operations a second.
  double f32_roof() const { return roofs_.flops_per_second; }

  // Whole powers of ten around everything that is drawn.
  void set_axes() {
    Bounds x, y;
    // The axis ends right of every ridge, so that the level roof has some length there.
    double end = -std::numeric_limits<double>::infinity();
    for (const RooflinePoint& point : points_) {
      x.add(point.intensity);
      y.add(point.rate);
    }
    for (const double roof : {int8_roof(), f32_roof()}) {
      y.add(roof);
      if (roofs_.bytes_per_second <= 0 || roof <= 0) continue;
      const double ridge = roof / roofs_.bytes_per_second;
      x.add(ridge);
      end = std::max(end, std::floor(std::log10(ridge)) + 1);
    }
    // Nothing to draw: an empty plot in the usual range.
    if (x.low == 0) x = {0.1, 100};
    if (y.low == 0) y = {1e9, 1e12};
    x_ = {std::floor(std::log10(x.low)), std::ceil(std::log10(x.high)), kLeft, kWidth};
    y_ = {std::floor(std::log10(y.low)), std::ceil(std::log10(y.high)), kTop + kHeight, -kHeight};
    // A single value on a power of ten would give an axis of length 0.
    x_.high = std::max({x_.high, x_.low + 1, end});
    y_.high = std::max(y_.high, y_.low + 1);
  }

  // Lines and labels at each power of ten.
  void draw_grid() {
    constexpr std::string_view kGrid = "stroke=\"#dddddd\"";
    for (double e = x_.low; e <= x_.high; ++e) {
      const double x = x_.at(std::pow(10, e));
      line(x, kTop, x, kTop + kHeight, kGrid);
      text(x, kTop + kHeight + 18, fmt::format("{:g}", std::pow(10, e)), "text-anchor=\"middle\"");
    }
    for (double e = y_.low; e <= y_.high; ++e) {
      const double y = y_.at(std::pow(10, e));
      line(kLeft, y, kLeft + kWidth, y, kGrid);
      text(kLeft - 8, y + 4, fmt::format("{:g}", std::pow(10, e - 9)), "text-anchor=\"end\"");
    }
    text(kLeft + kWidth / 2, kTop + kHeight + 40, "operations a byte", "text-anchor=\"middle\"");
    text(18, kTop + kHeight / 2, "Gop/s",
         fmt::format("text-anchor=\"middle\" transform=\"rotate(-90 18 {:.0f})\"",
                     kTop + kHeight / 2));
  }

  // A level roof from where memory can feed it, to the right edge.
  void draw_level_roof(double rate, std::string_view name) {
    if (rate <= 0) return;
    // The ridge: where the line of memory reaches this rate.
    const double begin = roofs_.bytes_per_second > 0 ? rate / roofs_.bytes_per_second : 0;
    const double x = begin > std::pow(10, x_.low) ? x_.at(begin) : kLeft;
    const double y = y_.at(rate);
    line(x, y, kLeft + kWidth, y, "stroke=\"black\" stroke-width=\"1.5\"");
    text(kLeft + kWidth - 4, y - 5, fmt::format("{} {:.0f} Gop/s", name, rate * 1e-9),
         "text-anchor=\"end\"");
  }

  // Memory limits what is left of the ridge, arithmetic what is right of it.
  void draw_roofs() {
    draw_level_roof(int8_roof(), "int8");
    draw_level_roof(f32_roof(), "f32");
    const double slope = roofs_.bytes_per_second;
    if (slope <= 0) return;
    // The line of memory ends at the highest level roof; without one, a decade above the bottom.
    const double top = std::max({int8_roof(), f32_roof(), std::pow(10, y_.low + 1)});
    const double first = std::max(std::pow(10, x_.low), std::pow(10, y_.low) / slope);
    const double last = std::min(top / slope, std::pow(10, x_.high));
    if (first >= last) return;
    line(x_.at(first), y_.at(first * slope), x_.at(last), y_.at(last * slope),
         "stroke=\"black\" stroke-width=\"1.5\"");
    const double x = x_.at(first), y = y_.at(first * slope);
    const double angle = std::atan2(y_.at(last * slope) - y, x_.at(last) - x) * 180 / std::acos(-1);
    text(x + 12, y - 8, fmt::format("memory {:.1f} GB/s", slope * 1e-9),
         fmt::format("transform=\"rotate({:.1f} {:.1f} {:.1f})\"", angle, x + 12, y - 8));
  }

  // In the order of first use; the last colour is shared.
  std::string_view colour(const std::string& group) {
    const auto [it, is_new] = colours_.try_emplace(group, colours_.size());
    return kColours[std::min(it->second, std::size(kColours) - 1)];
  }

  // The area stands for the share of time.
  void draw_point(size_t index) {
    const RooflinePoint& point = points_[index];
    double total = 0;
    for (const RooflinePoint& p : points_) total += p.seconds;
    const double share = total > 0 ? point.seconds / total : 0;
    // 4 pixels can be seen, 20 hide few neighbours.
    const double radius = 4 + 16 * std::sqrt(share);
    const double x = x_.at(point.intensity), y = y_.at(point.rate);
    add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\" fill-opacity=\"0.45\" "
        "stroke=\"{}\"><title>{}</title></circle>\n",
        x, y, radius, colour(point.group), colour(point.group), escape(point.label));
    text(x, y + 4, fmt::format("{}", index + 1), "text-anchor=\"middle\" font-size=\"10\"");
  }

  // Numbers of the marks, with what they mean.
  void draw_list() {
    for (size_t i = 0; i < points_.size(); ++i) {
      const RooflinePoint& p = points_[i];
      const double y = kListTop + kLineHeight * static_cast<double>(i);
      add("<circle cx=\"{:.0f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"/>\n", kLeft - 18, y - 4,
          colour(p.group));
      text(kLeft - 4, y,
           fmt::format("{}. {} {}: {:.1f} Gop/s, {:.1f} GB/s, {:.2f} ms", i + 1, escape(p.group),
                       escape(p.label), p.rate * 1e-9, p.rate / p.intensity * 1e-9,
                       p.seconds * 1e3));
    }
  }

  const DeviceRoof& roofs_;
  std::span<const RooflinePoint> points_;
  Axis x_;
  Axis y_;
  std::map<std::string, size_t> colours_;
  std::string out_;
};

}  // namespace

std::string roofline_svg(std::string_view title, const DeviceRoof& roofs,
                         std::span<const RooflinePoint> points) {
  return Picture(title, roofs, points).draw();
}

}  // namespace quern::cli
