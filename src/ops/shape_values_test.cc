// Operations that move elements, against their index formulas over random shapes: every element is
// where the definition puts it, whatever its width.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "support/op_values.h"

namespace quern::test {
namespace {

// Strides of a dense row-major tensor, written apart from the engine's.
std::vector<int64_t> strides_of(const Shape& shape) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()), 1);
  for (int axis = shape.rank() - 2; axis >= 0; --axis) {
    strides[static_cast<size_t>(axis)] = strides[static_cast<size_t>(axis + 1)] * shape[axis + 1];
  }
  return strides;
}

// The position along each axis of element `index`.
std::vector<int64_t> position_of(const Shape& shape, int64_t index) {
  std::vector<int64_t> position;
  for (const int64_t stride : strides_of(shape)) {
    position.push_back(index / stride);
    index %= stride;
  }
  return position;
}

// The inverse of position_of.
int64_t index_of(const Shape& shape, const std::vector<int64_t>& position) {
  const auto strides = strides_of(shape);
  return std::inner_product(position.begin(), position.end(), strides.begin(), int64_t{0});
}

// 0, 1, 2, ...: every element tells where it came from.
Tensor counted(const Shape& shape) {
  std::vector<int32_t> values(static_cast<size_t>(shape.num_elements()));
  std::iota(values.begin(), values.end(), 0);
  return i32(shape, values);
}

// Extents from 1 to `largest`: no empty axis, which has a test of its own.
Shape random_shape(std::mt19937& random, int rank, int64_t largest) {
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) {
    shape.push_back(1 + static_cast<int64_t>(random()) % largest);
  }
  return shape;
}

// Checks that element p of y is element source(p) of x for a counted x.
template <class Source>
void expect_moved(const Tensor& y, const Shape& x, Source source) {
  const auto values = values_of<int32_t>(y);
  ASSERT_EQ(static_cast<int64_t>(values.size()), y.shape().num_elements());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto from = source(position_of(y.shape(), static_cast<int64_t>(i)));
    ASSERT_EQ(values[i], index_of(x, from)) << "element " << i << " of " << y.shape().to_string();
  }
}

// Index by index, ranks 0 to 6.
// Element p of y is x at the position whose entry order[i] is p[i]. Rank 0 has one order, the empty
// one.
TEST(PermuteValues, FollowTheOrderAtEveryRank) {
  std::mt19937 random(1);
  for (int rank = 0; rank <= 6; ++rank) {
    for (int repeat = 0; repeat < 8; ++repeat) {
      const Shape x = random_shape(random, rank, 4);
      std::vector<int64_t> order(static_cast<size_t>(rank));
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      const Tensor y = run_one("shape.permute", {counted(x)}, {{"order", order}});
      expect_moved(y, x, [&](const std::vector<int64_t>& p) {
        std::vector<int64_t> from(p.size());
        for (size_t axis = 0; axis < p.size(); ++axis) {
          from[static_cast<size_t>(order[axis])] = p[axis];
        }
        return from;
      });
    }
  }
}

// Twice is nothing.
// One axis is named from the end, the other from the start; they may be the same.
TEST(TransposeValues, SwapTwoAxesAndBackAgain) {
  std::mt19937 random(2);
  for (int repeat = 0; repeat < 40; ++repeat) {
    const int rank = 1 + static_cast<int>(random() % 5);
    const Shape x = random_shape(random, rank, 5);
    const auto a = static_cast<int64_t>(random() % static_cast<uint32_t>(rank));
    const auto b = static_cast<int64_t>(random() % static_cast<uint32_t>(rank));
    const Attributes axes = {{"dim0", a - rank}, {"dim1", b}};  // one from each end
    const Tensor y = run_one("shape.transpose", {counted(x)}, axes);
    expect_moved(y, x, [&](std::vector<int64_t> p) {
      std::swap(p[static_cast<size_t>(a)], p[static_cast<size_t>(b)]);
      return p;
    });
    const Tensor back = run_one("shape.transpose", {y}, axes);
    EXPECT_EQ(back.shape(), x);
    EXPECT_EQ(values_of<int32_t>(back), values_of<int32_t>(counted(x)));
  }
}

// Index by index.
// New axes in front may be empty; in x only extents of 1 repeat.
TEST(BroadcastValues, RepeatAxesOfExtentOne) {
  std::mt19937 random(3);
  for (int repeat = 0; repeat < 40; ++repeat) {
    const int rank = static_cast<int>(random() % 4);
    const Shape x = random_shape(random, rank, 3);
    const int added = static_cast<int>(random() % 3);
    std::vector<int64_t> wanted;
    for (int axis = 0; axis < added; ++axis) {
      wanted.push_back(static_cast<int64_t>(random() % 3));  // 0 too
    }
    for (int axis = 0; axis < rank; ++axis) {
      wanted.push_back(x[axis] == 1 ? 1 + static_cast<int64_t>(random() % 4) : x[axis]);
    }
    const Tensor y = run_one("shape.broadcast", {counted(x)}, {{"shape", wanted}});
    expect_moved(y, x, [&](const std::vector<int64_t>& p) {
      std::vector<int64_t> from(p.end() - rank, p.end());
      for (int axis = 0; axis < rank; ++axis) {
        if (x[axis] == 1) from[static_cast<size_t>(axis)] = 0;
      }
      return from;
    });
  }
}

// Along each axis.
// Random ranges inside one axis, which is named from the end.
TEST(SliceValues, TakeAHalfOpenRange) {
  std::mt19937 random(4);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const int rank = 1 + static_cast<int>(random() % 4);
    const Shape x = random_shape(random, rank, 6);
    const auto axis = static_cast<int64_t>(random() % static_cast<uint32_t>(rank));
    const int64_t extent = x[static_cast<int>(axis)];
    const auto start = static_cast<int64_t>(random() % static_cast<uint32_t>(extent));
    const int64_t end = start + 1 + static_cast<int64_t>(random()) % (extent - start);
    const Tensor y = run_one("shape.slice", {counted(x)},
                             {{"dim", axis - rank}, {"start", start}, {"end", end}});
    ASSERT_EQ(y.shape()[static_cast<int>(axis)], end - start);
    expect_moved(y, x, [&](std::vector<int64_t> p) {
      p[static_cast<size_t>(axis)] += start;
      return p;
    });
  }
}

// Splitting, then joining the chunks along the same axis, gives the tensor back; so does slicing.
// The chunk is cut out of the split, and once more out of the tensor: both must be equal, and all
// together give the tensor back.
TEST(SplitValues, JoinBackToTheTensor) {
  std::mt19937 random(5);
  for (int repeat = 0; repeat < 40; ++repeat) {
    const int rank = 1 + static_cast<int>(random() % 3);
    Shape x = random_shape(random, rank, 3);
    const auto axis = static_cast<int64_t>(random() % static_cast<uint32_t>(rank));
    const int64_t size = x[static_cast<int>(axis)];
    const auto count = static_cast<int64_t>(1 + random() % 4);
    x[static_cast<int>(axis)] = size * count;
    const Tensor whole = counted(x);
    const Tensor chunks = run_one("shape.split", {whole}, {{"split_size", size}, {"dim", axis}});
    ASSERT_EQ(chunks.shape()[0], count);
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < count; ++i) {
      const Tensor part = run_one("shape.slice", {chunks}, {{"start", i}, {"end", i + 1}});
      Shape shape;
      for (int a = 1; a <= rank; ++a) shape.push_back(part.shape()[a]);
      parts.push_back(*part.reshape(shape));
      const Tensor slice = run_one("shape.slice", {whole},
                                   {{"dim", axis}, {"start", i * size}, {"end", (i + 1) * size}});
      EXPECT_EQ(values_of<int32_t>(slice), values_of<int32_t>(parts.back()));
    }
    const Tensor joined = run_one("shape.concat", parts, {{"dim", axis}});
    EXPECT_EQ(joined.shape(), x);
    EXPECT_EQ(values_of<int32_t>(joined), values_of<int32_t>(whole));
  }
}

// Also empty ones.
// Parts may be empty. An element belongs to the first part whose end lies beyond it.
TEST(ConcatValues, PartsStandOneAfterTheOther) {
  std::mt19937 random(6);
  for (int repeat = 0; repeat < 40; ++repeat) {
    const int rank = 1 + static_cast<int>(random() % 3);
    const Shape common = random_shape(random, rank, 4);
    const auto axis = static_cast<int>(random() % static_cast<uint32_t>(rank));
    std::vector<Tensor> parts;
    std::vector<int64_t> ends;  // along the axis
    int64_t total = 0;
    for (uint32_t i = 0; i < 1 + random() % 4; ++i) {
      Shape shape = common;
      shape[axis] = static_cast<int64_t>(random() % 4);  // parts without elements too
      parts.push_back(counted(shape));
      ends.push_back(total += shape[axis]);
    }
    const Tensor y = run_one("shape.concat", parts, {{"dim", int64_t{axis}}});
    ASSERT_EQ(y.shape()[axis], total);
    const auto values = values_of<int32_t>(y);
    for (size_t i = 0; i < values.size(); ++i) {
      auto p = position_of(y.shape(), static_cast<int64_t>(i));
      int64_t& along = p[static_cast<size_t>(axis)];
      const size_t part =
          static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), along) - ends.begin());
      if (part > 0) along -= ends[part - 1];
      ASSERT_EQ(values[i], index_of(parts[part].shape(), p));
    }
  }
}

// Head h begins at column h * width.
// Single tokens, heads of width 1, and extents that all differ.
TEST(HeadValues, AreColumnsOfTheirTokens) {
  for (const auto& [batch, tokens, heads, width] : std::vector<std::array<int64_t, 4>>{
           {1, 1, 1, 1}, {2, 3, 4, 5}, {1, 7, 2, 1}, {3, 1, 5, 2}}) {
    const Shape x{batch, tokens, heads * width};
    const int64_t d = width;
    const Tensor y = run_one("shape.view_as_heads", {counted(x)}, {{"num_heads", heads}});
    EXPECT_EQ(y.shape(), (Shape{batch, heads, tokens, width}));
    expect_moved(y, x, [&](const std::vector<int64_t>& p) {
      return std::vector<int64_t>{p[0], p[2], p[1] * d + p[3]};
    });
    const Tensor back = run_one("shape.merge_heads", {y});
    EXPECT_EQ(back.shape(), x);
    EXPECT_EQ(values_of<int32_t>(back), values_of<int32_t>(counted(x)));
  }
}

// Not of the tensor.
// Row 3 of four in each of three batches.
TEST(LastTokenValues, AreTheLastOfEachBatch) {
  const Shape x{3, 4, 5};
  const Tensor y = run_one("shape.last_token", {counted(x)});
  EXPECT_EQ(y.shape(), (Shape{3, 5}));
  expect_moved(y, x, [](const std::vector<int64_t>& p) {
    return std::vector<int64_t>{p[0], 3, p[1]};
  });
}

// Different factors for rows and columns.
// 2 rows become 6 and 5 columns 10: factors 3 and 2.
TEST(UpsampleValues, RepeatEachElement) {
  const Shape x{2, 3, 2, 5};
  const Tensor y = run_one("shape.upsample_nearest2d", {counted(x)},
                           {{"out_h", int64_t{6}}, {"out_w", int64_t{10}}});
  EXPECT_EQ(y.shape(), (Shape{2, 3, 6, 10}));
  expect_moved(y, x, [](const std::vector<int64_t>& p) {
    return std::vector<int64_t>{p[0], p[1], p[2] / 3, p[3] / 2};
  });
}

// i32 and i64 indices.
// Rows 3 and 0 come twice and out of order; i64 serves as well as i32.
TEST(GatherValues, RowsMayRepeatAndComeInAnyOrder) {
  const Shape x{4, 2, 3};
  const std::vector<int32_t> rows = {3, 0, 0, 2, 3};
  const Tensor y = run_one("shape.gather_rows", {counted(x), i32(Shape{5}, rows)});
  EXPECT_EQ(y.shape(), (Shape{5, 2, 3}));
  expect_moved(y, x, [&](std::vector<int64_t> p) {
    p[0] = rows[static_cast<size_t>(p[0])];
    return p;
  });
  const Tensor wide = tensor_of<int64_t>(DType::kI64, Shape{2}, {1, 2});
  EXPECT_EQ(values_of<int32_t>(run_one("shape.gather_rows", {counted(Shape{4}), wide})),
            (std::vector<int32_t>{1, 2}));
}

// With their place.
// Above the rows, below 0, and any row of a tensor that has none.
TEST(GatherValues, RowsOutsideAreNamed) {
  const Tensor x = counted(Shape{4, 2});
  EXPECT_EQ(run_error("shape.gather_rows", {x, i32(Shape{3}, {0, 4, 1})}),
            "Element 1 of 'rows' is 4; 'x' has 4 rows.");
  EXPECT_EQ(run_error("shape.gather_rows", {x, i32(Shape{1}, {-1})}),
            "Element 0 of 'rows' is -1; 'x' has 4 rows.");
  EXPECT_EQ(run_error("shape.gather_rows", {counted(Shape{0, 2}), i32(Shape{1}, {0})}),
            "Element 0 of 'rows' is 0; 'x' has 0 rows.");
}

// Bytes of every dtype of whole bytes move as they are: signalling NaNs and denormals too.
// Random bytes hold NaNs of all kinds; a copy by way of a float type may change them. Sizes run
// over all dtypes of whole bytes.
TEST(MovedValues, KeepTheBytesOfEveryDtype) {
  std::mt19937 random(7);
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.block_size != 1) continue;
    const auto width = static_cast<size_t>(info.block_bytes);
    std::vector<std::byte> bytes(6 * width);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    const Tensor x = *Tensor::from_bytes(info.dtype, Shape{2, 3}, bytes);
    const Tensor y = run_one("shape.transpose", {x}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}});
    ASSERT_EQ(y.dtype(), info.dtype);
    const auto moved = *y.read();
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 2; ++j) {
        EXPECT_TRUE(std::equal(moved.begin() + static_cast<long>((i * 2 + j) * width),
                               moved.begin() + static_cast<long>((i * 2 + j + 1) * width),
                               bytes.begin() + static_cast<long>((j * 3 + i) * width)))
            << info.name;
      }
    }
  }
}

// Every operation that moves.
// An empty axis at the front, and no heads to merge in the middle.
TEST(MovedValues, NoElementsGiveNone) {
  const Tensor none = counted(Shape{0, 3});
  EXPECT_EQ(run_one("shape.permute", {none}, {{"order", std::vector<int64_t>{1, 0}}}).shape(),
            (Shape{3, 0}));
  EXPECT_EQ(run_one("shape.slice", {none}, {{"dim", int64_t{1}}, {"start", int64_t{1}}}).shape(),
            (Shape{0, 2}));
  EXPECT_EQ(
      run_one("shape.split", {none}, {{"split_size", int64_t{3}}, {"dim", int64_t{1}}}).shape(),
      (Shape{1, 0, 3}));
  EXPECT_EQ(run_one("shape.concat", {none, none}).shape(), (Shape{0, 3}));
  EXPECT_EQ(run_one("shape.gather_rows", {none, i32(Shape{0}, {})}).shape(), (Shape{0, 3}));
  EXPECT_EQ(run_one("shape.merge_heads", {counted(Shape{2, 0, 3, 4})}).shape(), (Shape{2, 3, 0}));
  EXPECT_EQ(run_one("shape.last_token", {counted(Shape{0, 3, 4})}).shape(), (Shape{0, 4}));
}

// There is no last one.
// A rule cannot see this where the extent is a symbol.
TEST(LastTokenValues, NoTokensAreAnError) {
  EXPECT_EQ(run_error("shape.last_token", {counted(Shape{2, 0, 4})}),
            "Port 'x' has the shape [2, 0, 4]; axis 1 needs at least one token.");
}

// Negative ones too.
// A choice is any i32 but 0.
TEST(SelectValues, AnyNumberButZeroTakesY) {
  const Tensor x = counted(Shape{4, 2});
  const Tensor y = i32(Shape{4, 2}, {10, 11, 12, 13, 14, 15, 16, 17});
  EXPECT_EQ(values_of<int32_t>(run_one("shape.select_rows", {x, y, i32(Shape{4}, {0, 1, -5, 0})})),
            (std::vector<int32_t>{0, 1, 12, 13, 14, 15, 6, 7}));
}

// 255 as much as 1.
// A mask of bytes in the same way.
TEST(WhereValues, AnyByteButZeroTakesX) {
  const Tensor mask = tensor_of<uint8_t>(DType::kU8, Shape{4}, {0, 1, 255, 0});
  const Tensor x = counted(Shape{4}), y = i32(Shape{4}, {10, 11, 12, 13});
  EXPECT_EQ(values_of<int32_t>(run_one("compare.where", {mask, x, y})),
            (std::vector<int32_t>{10, 1, 2, 13}));
}

// A reshape keeps the order of elements whatever the shapes are.
// Ranks 1 to 5, with -1 at the front and at the end.
TEST(ReshapeValues, KeepTheOrder) {
  const Tensor x = counted(Shape{2, 3, 4});
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
           {24}, {4, 6}, {-1, 1}, {1, 2, 3, 4, 1}, {12, -1}, {2, 2, 2, 3}}) {
    const Tensor y = run_one("shape.reshape", {x}, {{"shape", shape}});
    EXPECT_EQ(y.shape().num_elements(), 24);
    EXPECT_EQ(values_of<int32_t>(y), values_of<int32_t>(x));
  }
}

}  // namespace
}  // namespace quern::test
