// The picture: well formed, within its frame, marks where the numbers say.
#include "cli/roofline_svg.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <regex>
#include <vector>

namespace quern::cli {
namespace {

constexpr DeviceRoof kRoofs = {.bytes_per_second = 20e9,
                               .flops_per_second = 100e9,
                               .int_ops_per_second = 400e9,
                               .step_seconds = 1e-6};

// With a title that does not matter.
std::string draw(const std::vector<RooflinePoint>& points, const DeviceRoof& roofs = kRoofs) {
  return roofline_svg("title", roofs, points);
}

// Circles that are marks: centre and radius.
struct Mark {
  double x = 0, y = 0, r = 0;
};
// The circles of the plot, without those of the list.
std::vector<Mark> marks_of(const std::string& svg) {
  static const std::regex circle(
      R"re(<circle cx="([-0-9.naif]+)" cy="([-0-9.naif]+)" r="([-0-9.naif]+)" fill="[^"]*" fill-opacity)re");
  std::vector<Mark> marks;
  for (std::sregex_iterator it(svg.begin(), svg.end(), circle), end; it != end; ++it) {
    marks.push_back({std::stod((*it)[1]), std::stod((*it)[2]), std::stod((*it)[3])});
  }
  return marks;
}

// Every element is closed, in order.
void expect_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  for (size_t at = 0; (at = svg.find('<', at)) != std::string::npos;) {
    const size_t end = svg.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    const std::string name =
        tag.substr(tag[0] == '/', tag.find_first_of(" /", 1) - (tag[0] == '/'));
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), tag.substr(1));
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end;
  }
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf\""), std::string::npos);
}

// Devices that cannot tell a roof give zeros.
TEST(RooflineSvg, EveryMixtureOfNothingIsAPicture) {
  const std::vector<RooflinePoint> one = {{"a", "g", 2, 1e9, 1}};
  for (const DeviceRoof& roofs :
       {kRoofs, DeviceRoof{}, DeviceRoof{.bytes_per_second = 1e9},
        DeviceRoof{.flops_per_second = 1e9}, DeviceRoof{.int_ops_per_second = 1}}) {
    expect_well_formed(draw({}, roofs));
    expect_well_formed(draw(one, roofs));
  }
}

// More work a byte is right, faster is up.
TEST(RooflineSvg, MarksFollowBothAxes) {
  const auto marks = marks_of(draw({{"low", "g", 0.5, 1e9, 1},
                                    {"more work a byte", "g", 50, 1e9, 1},
                                    {"faster", "g", 0.5, 100e9, 1}}));
  ASSERT_EQ(marks.size(), 3U);
  EXPECT_LT(marks[0].x, marks[1].x);
  EXPECT_DOUBLE_EQ(marks[0].y, marks[1].y);
  EXPECT_DOUBLE_EQ(marks[0].x, marks[2].x);
  EXPECT_GT(marks[0].y, marks[2].y);  // upwards is less
  for (const Mark& mark : marks) {
    EXPECT_GE(mark.x, 70);
    EXPECT_LE(mark.x, 710);
    EXPECT_GE(mark.y, 56);
    EXPECT_LE(mark.y, 476);
  }
}

// Logarithmic: a factor of ten is the same way everywhere.
TEST(RooflineSvg, TenTimesIsTheSameStep) {
  const auto marks =
      marks_of(draw({{"a", "g", 1, 1e9, 1}, {"b", "g", 10, 10e9, 1}, {"c", "g", 100, 100e9, 1}}));
  ASSERT_EQ(marks.size(), 3U);
  EXPECT_NEAR(marks[1].x - marks[0].x, marks[2].x - marks[1].x, 0.11);
  EXPECT_NEAR(marks[1].y - marks[0].y, marks[2].y - marks[1].y, 0.11);
}

// Of the time; the smallest mark has a radius of 4.
TEST(RooflineSvg, AreasAreShares) {
  const auto marks = marks_of(draw({{"a", "g", 1, 1e9, 3}, {"b", "g", 1, 1e9, 1}}));
  ASSERT_EQ(marks.size(), 2U);
  const auto area = [](const Mark& mark) { return (mark.r - 4) * (mark.r - 4); };
  EXPECT_NEAR(area(marks[0]) / area(marks[1]), 3, 0.1);
}

// Names of files and operations may hold anything.
TEST(RooflineSvg, TextIsEscaped) {
  const std::string svg =
      roofline_svg("<a> & \"b\"", kRoofs, std::vector<RooflinePoint>{{"x<y>&z", "g&h", 1, 1e9, 1}});
  expect_well_formed(svg);
  EXPECT_NE(svg.find("&lt;a&gt; &amp; \"b\""), std::string::npos);
  EXPECT_NE(svg.find("1. g&amp;h x&lt;y&gt;&amp;z: 1.0 Gop/s, 1.0 GB/s, 1000.00 ms"),
            std::string::npos);
}

// In the order of their first use.
TEST(RooflineSvg, GroupsHaveColours) {
  std::vector<RooflinePoint> points;
  for (int i = 0; i < 9; ++i) points.push_back({"p", fmt::format("g{}", i), 1, 1e9, 1});
  const std::string svg = draw(points);
  std::vector<std::string> colours;
  static const std::regex list(R"re(r="5" fill="(#[0-9a-f]{6})")re");
  for (std::sregex_iterator it(svg.begin(), svg.end(), list), end; it != end; ++it) {
    colours.push_back((*it)[1]);
  }
  ASSERT_EQ(colours.size(), 9U);
  for (size_t i = 1; i < 7; ++i) EXPECT_NE(colours[i], colours[i - 1]);
  EXPECT_EQ(colours[7], colours[6]);  // those beyond share the last
  EXPECT_EQ(colours[8], colours[6]);
}

// Labels of the axis of operations a byte, from left to right.
std::vector<std::string> intensities_of(const std::string& svg) {
  static const std::regex label(R"re(y="494.0" text-anchor="middle">([^<]*)<)re");
  std::vector<std::string> labels;
  for (std::sregex_iterator it(svg.begin(), svg.end(), label), end; it != end; ++it) {
    labels.push_back((*it)[1]);
  }
  return labels;
}

// The roofs meet at 400 / 20 = 20 and at 60 operations a byte: nothing is drawn past 100.
TEST(RooflineSvg, TheAxisEndsAtThePowerOfTenBehindTheRidge) {
  using Labels = std::vector<std::string>;
  EXPECT_EQ(intensities_of(draw({})), (Labels{"1", "10", "100"}));
  EXPECT_EQ(intensities_of(draw({}, {.bytes_per_second = 20e9, .int_ops_per_second = 1200e9})),
            (Labels{"10", "100"}));
  // A ridge on a power of ten: the level roof goes on for a decade.
  EXPECT_EQ(intensities_of(draw({}, {.bytes_per_second = 20e9, .flops_per_second = 200e9})),
            (Labels{"10", "100"}));
  // A mark further right has its place.
  EXPECT_EQ(intensities_of(draw({{"a", "g", 5000, 1e9, 1}})),
            (Labels{"1", "10", "100", "1000", "10000"}));
}

// Only those that are known.
TEST(RooflineSvg, RoofsAreNamedWithTheirRates) {
  const std::string svg = draw({});
  EXPECT_NE(svg.find(">int8 400 Gop/s<"), std::string::npos);
  EXPECT_NE(svg.find(">f32 100 Gop/s<"), std::string::npos);
  EXPECT_NE(svg.find(">memory 20.0 GB/s<"), std::string::npos);
  EXPECT_EQ(draw({}, {.bytes_per_second = 1e9}).find("int8"), std::string::npos);
}

}  // namespace
}  // namespace quern::cli
