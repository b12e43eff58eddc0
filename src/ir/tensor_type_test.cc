// Tests of tensor types: text form, symbols, extents that cannot be.
#include "ir/tensor_type.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace quern {
namespace {

// 0 is a value.
TEST(SymbolValues, AreUnboundAtFirst) {
  SymbolValues symbols;
  for (char c = 'A'; c <= 'Z'; ++c) EXPECT_EQ(symbols.get(c), -1);
  symbols.set('T', 7);
  EXPECT_EQ(symbols.get('T'), 7);
  EXPECT_EQ(symbols.get('S'), -1);
  EXPECT_NE(symbols, SymbolValues());
}

// A to Z alone.
TEST(SymbolValues, OtherCharactersAreNoSymbols) {
  SymbolValues symbols;
  for (const char c : {'a', '@', '[', '\0', '\x7F', static_cast<char>(200)}) {
    symbols.set(c, 3);
    EXPECT_EQ(symbols.get(c), -1);
  }
  EXPECT_EQ(symbols, SymbolValues());
}

// With symbols and layouts.
TEST(TensorType, TextComesBack) {
  for (const auto* text : {"f32[]", "f32[T, 64]", "i16[3*T, 2]", "q4_K[10, 256]", "f32[T]@private",
                           "b1[0]", "complex64[A, B, C, D, E, F, G, H]", "f32[2*T]@column_major"}) {
    const auto type = parse_tensor_type(text);
    ASSERT_TRUE(type) << text;
    EXPECT_EQ(type->to_string(), text);
  }
}

// 3T is 3*T.
TEST(TensorType, BlanksAndShortFormsAreTaken) {
  EXPECT_EQ(parse_tensor_type("f32[ 2,3 , T ]")->to_string(), "f32[2, 3, T]");
  EXPECT_EQ(parse_tensor_type("f32[3T]")->to_string(), "f32[3*T]");
  EXPECT_EQ(parse_tensor_type("f32[1*T]")->to_string(), "f32[T]");
  EXPECT_EQ(parse_tensor_type("f32[T]@row_major")->to_string(), "f32[T]");
}

// Quoted as it was.
TEST(TensorType, WrongTextIsAnErrorThatShowsIt) {
  const auto message = [](std::string_view text) {
    const auto type = parse_tensor_type(text);
    return type ? std::string("no error") : type.error().message;
  };
  EXPECT_EQ(message("f32"), "'f32' is not a tensor type such as f32[T, 64].");
  EXPECT_EQ(message("f32]["), "'f32][' is not a tensor type such as f32[T, 64].");
  EXPECT_EQ(message("f33[2]"), "'f33' is not a dtype.");
  EXPECT_EQ(message("[2]"), "'' is not a dtype.");
  EXPECT_EQ(message("f32[-1]"), "'-1' is not a dim; a dim is a number, a letter or number*letter.");
  // One slip each: no bracket, small letter, empty dims, factor missing or behind, two letters,
  // past int64, and number forms of other languages.
  for (const auto* text : {"f32[2", "f32[t]", "f32[2,]", "f32[,2]", "f32[*T]", "f32[T*2]",
                           "f32[TT]", "f32[9223372036854775808]", "f32[0x10]", "f32[2.0]"}) {
    EXPECT_FALSE(parse_tensor_type(text)) << text;
  }
  EXPECT_EQ(message("f32[2]x"), "'x' is not a layout of a tensor type.");
  EXPECT_EQ(message("f32[2]@nowhere"), "'@nowhere' is not a layout of a tensor type.");
  EXPECT_EQ(message("f32[1,1,1,1,1,1,1,1,1]"), "A tensor type of rank 9 is over the limit of 8.");
}

// Factors times values.
TEST(TensorType, ResolvesSymbols) {
  const TensorType type = parse_tensor_type("f32[2*T, 3, S]").value();
  SymbolValues symbols;
  symbols.set('T', 5);
  const auto unbound = type.resolve(symbols);
  ASSERT_FALSE(unbound);
  EXPECT_EQ(unbound.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(unbound.error().message, "Symbol S has no value yet.");
  symbols.set('S', 0);
  EXPECT_EQ(type.resolve(symbols).value(), (Shape{10, 3, 0}));
  EXPECT_FALSE(type.is_static());
  EXPECT_TRUE(parse_tensor_type("f32[4]")->is_static());
  EXPECT_TRUE(parse_tensor_type("f32[]")->is_static());
}

// Products that do not fit.
TEST(TensorType, HugeExtentsAreErrors) {
  SymbolValues symbols;
  symbols.set('T', int64_t{1} << 60);
  EXPECT_EQ(parse_tensor_type("f32[16*T]")->resolve(symbols).error().message,
            "Extent 16 * 1152921504606846976 is too large.");
  EXPECT_FALSE(parse_tensor_type("f32[T, T]")->resolve(symbols));
  // 4 * 2^60 fits an int64 but not the limit of 2^62 elements; 16 * 2^60 does not fit at all.
  EXPECT_FALSE(parse_tensor_type("f32[4*T]")->resolve(symbols));
}

// Types that no text gives, made by hand.
TEST(TensorType, HandMadeTypesAreChecked) {
  const TensorType deep{DType::kF32, std::vector<Dim>(9, Dim::constant(1))};
  EXPECT_EQ(deep.resolve({}).error().message, "Rank 9 is over 8.");
  const TensorType negative{DType::kF32, {Dim::constant(-2)}};
  EXPECT_FALSE(negative.resolve({}));
  const TensorType odd{DType::kF32, {Dim::symbolic('t')}};
  EXPECT_EQ(odd.resolve({}).error().code, ErrorCode::kFailedPrecondition);
}

}  // namespace
}  // namespace quern
