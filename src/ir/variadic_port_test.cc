// Names of the values of variadic ports, there and back.
#include "ir/variadic_port.h"

#include <gtest/gtest.h>

#include <set>

namespace quern {
namespace {

// By letters from the port's own, then by numbers.
TEST(VariadicPort, ValuesHaveNamesOfTheirOwn) {
  const PortDef a{.name = "a", .is_variadic = true}, x{.name = "x", .is_variadic = true};
  EXPECT_EQ(variadic_value_name(a, 0), "a");
  EXPECT_EQ(variadic_value_name(a, 1), "b");
  EXPECT_EQ(variadic_value_name(a, 25), "z");
  EXPECT_EQ(variadic_value_name(a, 26), "a26");
  EXPECT_EQ(variadic_value_name(x, 2), "z");
  EXPECT_EQ(variadic_value_name(x, 3), "x3");
  const PortDef operands{.name = "operands", .is_variadic = true};
  EXPECT_EQ(variadic_value_name(operands, 0), "operands0");
  EXPECT_EQ(variadic_value_name(operands, 12), "operands12");
}

// Each name means one value.
TEST(VariadicPort, NamesComeBackAsIndices) {
  for (const char* name : {"a", "x", "z", "operands", "A"}) {
    const PortDef port{.name = name, .is_variadic = true};
    std::set<std::string> names;
    for (size_t i = 0; i < 1000; ++i) {
      const std::string value = variadic_value_name(port, i);
      EXPECT_TRUE(names.insert(value).second) << value;
      EXPECT_EQ(variadic_value_index(port, value), i) << value;
    }
  }
}

// Neither other letters nor other spellings of a number.
TEST(VariadicPort, OtherNamesMeanNothing) {
  const PortDef c{.name = "c", .is_variadic = true};
  for (const char* name : {"", "a", "b", "{", "C", "c0", "c1", "c023", "c+30", "c30x", "cc", "c-1",
                           "c99999999999999999999", "d1", "\xC3"}) {
    EXPECT_EQ(variadic_value_index(c, name), std::nullopt) << name;
  }
  EXPECT_EQ(variadic_value_index(c, "c30"), 30U);
  const PortDef operands{.name = "operands", .is_variadic = true};
  for (const char* name : {"operands", "operands01", "o", "operand0", "operands 0"}) {
    EXPECT_EQ(variadic_value_index(operands, name), std::nullopt) << name;
  }
}

// The variadic port is the last.
TEST(VariadicPort, InputsAreCountedOverAllPorts) {
  const std::vector<PortDef> ports = {
      {.name = "x"}, {.name = "w", .is_optional = true}, {.name = "p", .is_variadic = true}};
  const std::vector<std::string> names = {"x", "w", "p", "q", "r"};
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(input_name(ports, i), names[i]);
    EXPECT_EQ(find_input(ports, names[i]), i);
  }
  EXPECT_EQ(find_input(ports, "a"), std::nullopt);
  EXPECT_EQ(find_input({}, "x"), std::nullopt);
  // Past the last port there is nothing to name; the nearest is.
  const std::vector<PortDef> plain = {{.name = "x"}, {.name = "y"}};
  EXPECT_EQ(input_name(plain, 1), "y");
  EXPECT_EQ(input_name(plain, 5), "y");
}

}  // namespace
}  // namespace quern
