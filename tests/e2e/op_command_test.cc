// `quern op`, `quern ops`, `quern conform` and `quern ulp` through the program: cases of the suite
// op_cases from files to files, and what a user who errs is told.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "conformance/host_values.h"
#include "formats/npy.h"
#include "support/op_case.h"
#include "support/temporary_folder.h"

namespace quern::test {
namespace {

// Exit code and text of a run.
struct Finished {
  int code = -1;
  std::string text;  // stdout and stderr
};

// Arguments are quoted by the caller where they need it.
// Through the shell, so that quoting is tested as well.
Finished quern(const std::string& arguments) {
  Finished finished;
  const std::string command = std::string(QUERN_PROGRAM) + " " + arguments + " 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return finished;
  std::array<char, 4096> buffer;
  for (size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    finished.text.append(buffer.data(), n);
  }
  const int status = ::pclose(pipe);
  finished.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return finished;
}

// For the shell.
std::string quoted(const std::string& text) {
  return "'" + text + "'";
}

// As the command line takes it.
std::string attribute_text(const AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<double>(&value)) {
    std::array<char, 40> buffer;
    // 17 digits bring every double back.
    std::snprintf(buffer.data(), buffer.size(), "%.17g", *number);
    return buffer.data();
  }
  std::string text = attribute_to_string(value);
  if (text.starts_with("f[")) text.erase(0, 1);
  return text;
}

// Arrays in a folder.
class OpCommand : public testing::Test {
 protected:
  std::string path(const std::string& name) { return folder_.file(name); }
  std::string write(const std::string& name, DType dtype, const Shape& shape,
                    const std::vector<double>& values) {
    const std::string file = path(name);
    EXPECT_TRUE(write_npy(file, *tensor_of_numbers(dtype, shape, values)));
    return file;
  }
  TemporaryFolder folder_{"op_command"};
};

// The case as arguments of the program; results go to result_0.npy, ...
std::string arguments_of(const OpCase& c, const std::string& folder) {
  std::string text = "op " + c.op->id;
  for (const auto& [name, value] : c.attributes) {
    text += " --attr " + quoted(name + "=" + attribute_text(value));
  }
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const std::string file = folder + "/input_" + std::to_string(i) + ".npy";
    EXPECT_TRUE(write_npy(file, c.array(c.inputs[i])));
    text += " --input " + quoted(c.inputs[i] + "=" + file);
  }
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    text += " --output " + quoted(c.op->outputs[c.output_port(i)].name + "=" + folder + "/result_" +
                                  std::to_string(i) + ".npy");
  }
  return text;
}

// Within the bounds of the case.
void expect_result(const OpCase& c, size_t i, const std::string& file) {
  const auto array = read_npy(file);
  ASSERT_TRUE(array) << array.error().message;
  const auto actual = *numbers_of(array->tensor), expected = *numbers_of(c.array(c.outputs[i]));
  ASSERT_GE(actual.size(), expected.size());
  for (size_t k = 0; k < expected.size(); ++k) {
    const bool is_same =
        std::isnan(expected[k]) ? std::isnan(actual[k])
        : std::isinf(expected[k])
            ? actual[k] == expected[k]
            : std::abs(actual[k] - expected[k]) <= c.absolute + c.relative * std::abs(expected[k]);
    ASSERT_TRUE(is_same) << c.outputs[i] << " " << k << ": " << actual[k] << ", expected "
                         << expected[k];
  }
}

// One case of each operation with values, and every one that must be refused.
TEST_F(OpCommand, RunsCasesOfEveryOperation) {
  std::set<std::string> seen;
  int num_values = 0, num_refused = 0;
  for (const std::string& name : op_case_names()) {
    const auto c = load_op_case(name);
    ASSERT_TRUE(c) << c.error().message;
    // One case for each operation and form: the others are run without processes elsewhere.
    const bool is_new =
        !c->must_fail && !c->is_sequence() && c->property.empty() &&
        seen.insert(c->op->id +
                    (c->attributes.find("form") != nullptr ? c->attributes.text("form") : ""))
            .second;
    if (!is_new && !c->must_fail) continue;
    SCOPED_TRACE(name);
    const Finished finished = quern(arguments_of(*c, folder_.path().string()));
    if (c->must_fail) {
      EXPECT_EQ(finished.code, 1) << finished.text;
      EXPECT_TRUE(finished.text.starts_with("quern: ")) << finished.text;
      ++num_refused;
      continue;
    }
    ASSERT_EQ(finished.code, 0) << finished.text;
    for (size_t i = 0; i < c->outputs.size(); ++i) {
      expect_result(*c, i, path("result_" + std::to_string(i) + ".npy"));
    }
    ++num_values;
  }
  if (op_case_names().empty()) GTEST_SKIP() << "the suite op_cases is absent";
  // So that a suite that was copied in part does not pass.
  EXPECT_GE(num_values, 200);
  EXPECT_EQ(num_refused, 16);
}

// Long ones are cut.
TEST_F(OpCommand, PrintsResultsWithoutOutputs) {
  const std::string x = write("x.npy", DType::kF64, Shape{3}, {-1, 0, 2});
  const Finished finished = quern("op activation.relu --input x=" + x);
  EXPECT_EQ(finished.code, 0);
  EXPECT_EQ(finished.text, "y: f64[3] = [0, 0, 2]\n");
  const std::string big = write("big.npy", DType::kI64, Shape{100}, std::vector<double>(100));
  EXPECT_NE(quern("op elementwise.neg --input x=" + big).text.find(", ... 36 more]"),
            std::string::npos);
}

// Inputs and results.
TEST_F(OpCommand, ConvertsFloatsOnRequest) {
  const std::string x = write("x.npy", DType::kF64, Shape{2}, {0.1, 3});
  const std::string y = path("y.npy");
  for (const auto& [name, dtype] : {std::pair{"f32", DType::kF32}, std::pair{"f64", DType::kF64},
                                    std::pair{"f16", DType::kF16}}) {
    const std::string flags = " --dtype " + std::string(name) + " --output y=" + y;
    ASSERT_EQ(quern("op math.exp --input x=" + x + flags).code, 0);
    EXPECT_EQ(read_npy(y)->tensor.dtype(), dtype);
  }
  // e^0.1 = 1.10517 and e^3 = 20.0855, each rounded to 8 bits of significand.
  EXPECT_EQ(quern("op math.exp --input x=" + x + " --dtype bf16").text,
            "y: bf16[2] = [1.1015625, 20.125]\n");
  // Results without an input of their own take it too.
  ASSERT_EQ(quern("op masking.causal --attr seq_len=2 --dtype f32 --output mask=" + y).code, 0);
  EXPECT_EQ(read_npy(y)->tensor.dtype(), DType::kF32);
}

// And on every cap of the instruction set.
TEST_F(OpCommand, GivesTheSameBitsOnBothBackends) {
  // Small, large, negative and a negative zero.
  const std::string x = write("x.npy", DType::kF32, Shape{2, 3}, {0.1, -3, 7, 1e-9, 5, -0.0});
  for (const char* id : {"math.softmax", "activation.gelu", "math.rmsnorm"}) {
    const std::string run = std::string("op ") + id + " --input x=" + x;
    EXPECT_EQ(quern(run).text, quern(run + " --device reference").text) << id;
    EXPECT_EQ(quern(run).text, quern(run + " --isa scalar --threads 1").text) << id;
  }
}

// Its page of the reference.
TEST_F(OpCommand, HelpShowsTheOperation) {
  const Finished finished = quern("op math.layernorm --help");
  EXPECT_EQ(finished.code, 0);
  for (const char* part : {"Inputs:  x, weight?, bias?", "Outputs: y", "eps", "1e-05",
                           "Types:", "Edges:", "Error in f32", "--input"}) {
    EXPECT_NE(finished.text.find(part), std::string::npos) << part << "\n" << finished.text;
  }
  EXPECT_NE(
      quern("op hawkes.intensity --help").text.find("query, times, alpha, beta, mu (form table)"),
      std::string::npos);
  EXPECT_EQ(quern("op --help").code, 0);
  EXPECT_EQ(quern("op no.such.op --help").code, 1);
}

// One row for each mistake.
TEST_F(OpCommand, SaysWhatIsWrong) {
  const std::string x = write("x.npy", DType::kF64, Shape{2, 3}, {1, 2, 3, 4, 5, 6});
  const std::string n = write("n.npy", DType::kI64, Shape{2}, {0, 7});
  std::ofstream(path("text.npy")) << "not an array";
  const std::array<std::pair<std::string, std::string>, 19> mistakes = {{
      {"", "needs the id of an operation"},
      {"math.softmx", "There is no operation 'math.softmx'"},
      {"softmax --input x=" + x, "did you mean"},
      {"math.softmax", "math.softmax needs its input 'x'"},
      {"math.softmax --input y=" + x, "math.softmax has no input 'y'; there are: x."},
      {"math.softmax --input x=" + x + " --input x=" + x, "gives port 'x' twice"},
      {"math.softmax --input " + x, "it must be NAME=VALUE"},
      {"math.softmax --input x=" + path("absent.npy"), "absent.npy"},
      {"math.softmax --input x=" + path("text.npy"), "text.npy"},
      {"math.softmax --input x=" + x + " --output z=" + path("z.npy"),
       "has no output 'z'; there are: y."},
      {"math.softmax --input x=" + x + " --attr axis=1", "has no attribute 'axis'"},
      {"math.groupnorm --input x=" + x, "needs the attribute 'groups'"},
      {"math.groupnorm --input x=" + x + " --attr groups=2", "it must divide the 3 channels"},
      {"math.groupnorm --input x=" + x + " --attr groups=two", "it must be an integer"},
      {"activation.gelu --input x=" + x + " --attr approximate=maybe",
       "the choices are none, tanh"},
      {"math.exp --input x=" + n, "Port 'x'"},
      {"embedding.token --input ids=" + n + " --input weight=" + x, "id 7"},
      {"shape.permute --attr order=0 --input x=" + n + " --dtype f32",
       "--dtype f32 has no effect on"},
      {"kv.append", "works on a key-value state"},
  }};
  for (const auto& [arguments, wanted] : mistakes) {
    const Finished finished = quern("op " + arguments);
    EXPECT_EQ(finished.code, 1) << arguments << "\n" << finished.text;
    EXPECT_TRUE(finished.text.starts_with("quern: ")) << finished.text;
    EXPECT_NE(finished.text.find(wanted), std::string::npos) << arguments << "\n" << finished.text;
  }
  const std::string good = "op math.exp --input x=" + x;
  EXPECT_EQ(quern(good + " --device gpu9").code, 1);
  // A word that the option does not know is a mistake of usage: exit code 2.
  EXPECT_EQ(quern(good + " --dtype f31").code, 2);
  EXPECT_EQ(quern(good + " --output y=" + path("no/such/folder.npy")).code, 1);
  const std::string twice = path("same.npy");
  EXPECT_NE(quern("op sort.top_k --attr k=1 --input x=" + x + " --output values=" + twice +
                  " --output indices=" + twice)
                .text.find("Two outputs would be written"),
            std::string::npos);
}

// An f64 would round them.
TEST_F(OpCommand, PrintsIntegersWithAllDigits) {
  const std::string x = write("x.npy", DType::kI8, Shape{2}, {-1, 3});
  for (const char* device : {"cpu", "reference"}) {
    const auto cast = [&](const std::string& dtype) {
      return quern("op math.cast --attr to=" + dtype + " --input x=" + x + " --device " + device);
    };
    EXPECT_EQ(cast("u64").text, "y: u64[2] = [18446744073709551615, 3]\n");
    EXPECT_EQ(cast("i64").text, "y: i64[2] = [-1, 3]\n");
    EXPECT_EQ(cast("f32").text, "y: f32[2] = [-1, 3]\n");
  }
}

// All values of a list have names, in errors too.
TEST_F(OpCommand, ListsHaveNamesForTheirValues) {
  const std::string a = write("a.npy", DType::kF64, Shape{2}, {1, 2});
  const std::string b = write("b.npy", DType::kF64, Shape{3}, {1, 2, 3});
  const std::string bundle = "op vsa.bundle --attr normalize=false --input ";
  EXPECT_EQ(quern(bundle + "b=" + a + " --input a=" + a + " --input c=" + a).text,
            "bundled: f64[2] = [3, 6]\n");
  EXPECT_NE(quern(bundle + "a=" + a + " --input b=" + b)
                .text.find("Port 'b' has type f64[3]; it needs the type of 'a', f64[2]."),
            std::string::npos);
  EXPECT_NE(quern("op vsa.bundle --help").text.find("Inputs:  a, b, ...\n"), std::string::npos);
}

// The counts are those of the documentation.
TEST(OpsCommand, HasNothingMissingOnCpu) {
  const Finished table = quern("ops --backend cpu");
  EXPECT_EQ(table.code, 0);
  EXPECT_NE(table.text.find("119 that graphs name (74 direct, 3 composite, 32 registry, 10 "
                            "graph-only), 88 that only surfaces name (of their 151 methods)"),
            std::string::npos);
  EXPECT_NE(table.text.find(" 0 missing."), std::string::npos);
  const auto json = nlohmann::json::parse(quern("ops --backend cpu --json").text);
  EXPECT_EQ(json["counts"]["support"]["cpu"]["missing"], 0);
  EXPECT_EQ(quern("ops --backend none").code, 1);
  EXPECT_EQ(quern("ops --json --markdown").code, 1);
}

// In both forms.
TEST_F(OpCommand, ConformWritesCertificates) {
  const std::string json = path("c.json"), html = path("c.html");
  const Finished finished =
      quern("conform --backend cpu --filter math.exp --json " + json + " --html " + html);
  EXPECT_EQ(finished.code, 0) << finished.text;
  EXPECT_NE(finished.text.find("\nPASSED (partial, filter 'math.exp'): "), std::string::npos);
  std::ifstream file(json);
  EXPECT_EQ(nlohmann::json::parse(file)["passed"], true);
  EXPECT_GT(std::filesystem::file_size(html), 1000u);
  EXPECT_EQ(quern("conform --backend null").code, 1);
  EXPECT_EQ(quern("conform --filter nothing.like.this").code, 1);
}

// And where it is.
TEST(UlpCommand, PrintsTheWorstError) {
  // Every 65,537th of the 2^32 bit patterns: 65,536 of them, spread over all exponents.
  const Finished finished = quern("ulp exp sin --stride 65537");
  EXPECT_EQ(finished.code, 0) << finished.text;
  EXPECT_NE(finished.text.find("exp "), std::string::npos);
  EXPECT_NE(finished.text.find(" ulp at x = "), std::string::npos);
  EXPECT_NE(finished.text.find("65536 inputs"), std::string::npos);
  EXPECT_EQ(quern("ulp besselj").code, 1);
}

}  // namespace
}  // namespace quern::test
