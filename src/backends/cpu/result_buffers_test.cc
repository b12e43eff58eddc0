// Tests of when the memory of a result is used again.
#include "backends/cpu/result_buffers.h"

#include <gtest/gtest.h>

namespace quern::cpu {
namespace {

const std::byte* address(const Buffer& buffer) {
  return buffer.host_view()->data();
}

// 6,000 of 10,000 bytes: close enough to use the same memory again.
TEST(ResultBuffers, MemoryThatNobodyHoldsIsUsedAgain) {
  ResultBuffers buffers(1);
  const std::byte* first = nullptr;
  {
    const auto buffer = buffers.take(0, 10000);
    ASSERT_TRUE(buffer.has_value());
    first = address(*buffer);
  }
  const auto smaller = buffers.take(0, 6000);
  ASSERT_TRUE(smaller.has_value());
  EXPECT_EQ(address(*smaller), first);
  EXPECT_EQ(smaller->size_bytes(), 6000);
}

// A slice keeps the whole buffer alive. Results of another index have buffers of their own.
TEST(ResultBuffers, MemoryThatTheCallerHoldsIsLeftAlone) {
  ResultBuffers buffers(2);
  const auto held = buffers.take(0, 100);
  const auto part = held->slice(10, 20);
  const auto next = buffers.take(0, 100);
  ASSERT_TRUE(held && part && next);
  EXPECT_NE(address(*held), address(*next));
  EXPECT_NE(address(*buffers.take(1, 100)), address(*next));
}

// 5,000 of a megabyte: keeping it would hold 200 times what is needed.
TEST(ResultBuffers, ASmallResultDoesNotKeepALargeBuffer) {
  ResultBuffers buffers(1);
  ASSERT_TRUE(buffers.take(0, int64_t{1} << 20).has_value());
  const auto small = buffers.take(0, 5000);
  ASSERT_TRUE(small.has_value());
  EXPECT_EQ(small->size_bytes(), 5000);
}

TEST(ResultBuffers, AResultWithoutBytesHasAnAddress) {
  ResultBuffers buffers(1);
  const auto buffer = buffers.take(0, 0);
  ASSERT_TRUE(buffer.has_value());
  EXPECT_EQ(buffer->size_bytes(), 0);
  EXPECT_NE(address(*buffer), nullptr);
}

}  // namespace
}  // namespace quern::cpu
