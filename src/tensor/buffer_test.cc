// Tests of buffers: what they hold, what they refuse, who keeps the memory.
#include "quern/buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace quern {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(const Buffer& buffer) {
  const auto view = buffer.host_view().value();
  return {reinterpret_cast<const char*>(view.data()), view.size()};
}

// Small and mapped ones.
TEST(Buffer, HostMemoryIsZeroedAndAligned) {
  // 2 MiB is where memory is mapped instead of allocated.
  // 63 and 65 lie on both sides of the alignment: the tail past the size must not be needed.
  for (const int64_t size : {int64_t{0}, int64_t{1}, int64_t{63}, int64_t{65}, int64_t{100'000},
                             int64_t{1} << 21, (int64_t{1} << 21) + 1}) {
    const auto buffer = Buffer::allocate_host(size);
    ASSERT_TRUE(buffer) << size;
    EXPECT_EQ(buffer->size_bytes(), size);
    EXPECT_EQ(buffer->place(), "host");
    EXPECT_FALSE(buffer->is_empty());
    const auto view = buffer->host_view().value();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(view.data()) % 64, 0U);
    EXPECT_TRUE(std::ranges::all_of(view, [](std::byte b) { return b == std::byte{0}; }));
  }
}

// Each call, without a crash.
TEST(Buffer, MoreThanTheMachineHasIsRefused) {
  const auto buffer = Buffer::allocate_host(int64_t{1} << 50);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(buffer.error().message.starts_with(
      "1125899906842624 bytes of host memory are not available"));
}

TEST(Buffer, AnEmptyBufferSaysSo) {
  Buffer buffer;
  std::array<std::byte, 1> target{};
  EXPECT_TRUE(buffer.is_empty());
  EXPECT_EQ(buffer.size_bytes(), 0);
  EXPECT_EQ(buffer.place(), "nowhere");
  for (const auto& error : {buffer.host_view().error(), buffer.mutable_host_view().error(),
                            buffer.read(0, target).error(), buffer.write(0, target).error()}) {
    EXPECT_EQ(error.code, ErrorCode::kFailedPrecondition);
    EXPECT_EQ(error.message, "The buffer is empty: nothing was allocated.");
  }
  EXPECT_TRUE(Buffer(nullptr).is_empty());
}

// At offsets.
TEST(Buffer, WhatIsWrittenIsRead) {
  Buffer buffer = Buffer::allocate_host(10).value();
  ASSERT_TRUE(buffer.write(2, bytes_of("quern")));
  std::array<std::byte, 5> target{};
  ASSERT_TRUE(buffer.read(2, target));
  EXPECT_EQ(static_cast<char>(target[4]), 'n');
  EXPECT_EQ(text_of(buffer), std::string("\0\0quern\0\0\0", 10));
  // An empty range at the very end is inside; copies of tensors without elements make such calls.
  EXPECT_TRUE(buffer.read(10, {}));
  EXPECT_TRUE(buffer.write(0, {}));
}

// Offsets near the ends of 64 bits.
TEST(Buffer, RangesAreChecked) {
  Buffer buffer = Buffer::allocate_host(16).value();
  std::vector<std::byte> target(17);
  const auto whole = buffer.read(0, target);
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(whole.error().message, "Bytes [0, +17) are outside a buffer of 16 bytes.");
  EXPECT_FALSE(buffer.write(16, std::span(target).first(1)));
  EXPECT_FALSE(buffer.read(-1, std::span(target).first(1)));
  // offset + size passes 2^63 here: a check written as `offset + size > limit` would wrap and pass.
  EXPECT_FALSE(buffer.read(INT64_MAX, std::span(target).first(1)));
  EXPECT_FALSE(buffer.read(INT64_MIN, std::span(target).first(1)));
}

// And outlive the whole.
TEST(Buffer, SlicesShareTheMemory) {
  Buffer whole = Buffer::allocate_host(8).value();
  Buffer part = whole.slice(2, 4).value();
  EXPECT_EQ(part.size_bytes(), 4);
  ASSERT_TRUE(part.write(0, bytes_of("abcd")));
  EXPECT_EQ(text_of(whole), std::string("\0\0abcd\0\0", 8));
  Buffer inner = part.slice(1, 2).value();
  EXPECT_EQ(text_of(inner), "bc");
  // A slice of a slice adds both offsets and keeps the smaller limit.
  EXPECT_FALSE(inner.write(0, bytes_of("xyz")));  // inside the storage, outside the slice
  EXPECT_EQ(text_of(whole.slice(8, 0).value()), "");
}

// Relative to the slice.
TEST(Buffer, SlicesOutsideAreErrors) {
  const Buffer buffer = Buffer::allocate_host(8).value();
  EXPECT_FALSE(buffer.slice(8, 1));
  EXPECT_FALSE(buffer.slice(-1, 4));
  EXPECT_FALSE(buffer.slice(0, -1));
  EXPECT_FALSE(buffer.slice(1, INT64_MAX));
  EXPECT_FALSE(Buffer().slice(0, 1));
}

// Mapped files.
TEST(Buffer, BorrowedMemoryIsReadOnlyAndKeepsItsOwner) {
  auto owner = std::make_shared<std::string>("borrowed");
  // The weak pointer sees whether the storage still holds the owner: while a slice lives it must,
  // after the last one it must not.
  const std::weak_ptr<std::string> watch = owner;
  Buffer buffer = Buffer::wrap_host(bytes_of(*owner), owner);
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(buffer.place(), "file");
  EXPECT_EQ(text_of(buffer), "borrowed");
  EXPECT_EQ(buffer.mutable_host_view().error().message, "The buffer is read-only.");
  EXPECT_EQ(buffer.write(0, bytes_of("x")).error().code, ErrorCode::kFailedPrecondition);
  Buffer part = buffer.slice(0, 6).value();
  buffer = Buffer();
  EXPECT_EQ(text_of(part), "borrow");
  part = Buffer();
  EXPECT_TRUE(watch.expired());
}

// Not an exception.
TEST(Buffer, ImpossibleSizesAreErrors) {
  const auto negative = Buffer::allocate_host(-1);
  ASSERT_FALSE(negative);
  EXPECT_EQ(negative.error().message, "A buffer of -1 bytes is negative.");
  // INT64_MAX plus the huge page would wrap in the mapping; 2^60 passes every sum and is beyond any
  // address space, so that the system itself refuses.
  for (const int64_t size : {INT64_MAX, int64_t{1} << 60}) {
    const auto huge = Buffer::allocate_host(size);
    ASSERT_FALSE(huge);
    EXPECT_EQ(huge.error().code, ErrorCode::kResourceExhausted);
  }
}

}  // namespace
}  // namespace quern
