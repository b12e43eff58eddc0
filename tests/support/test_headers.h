// Headers that every test compiles with, compiled once (quern_compile_test_quickly). Only what
// never changes: a header of ours here would rebuild all tests with it. Tests include what they use
// all the same, and the preset dev compiles them without this.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>
