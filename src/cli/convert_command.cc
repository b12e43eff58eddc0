// quern convert: a model as one file or several, in either byte order.
// Weights are copied piece by piece: a model larger than memory is no problem.
#include <fmt/format.h>

#include <bit>
#include <limits>
#include <memory>

#include "base/fail.h"
#include "cli/commands.h"
#include "cli/progress_bar.h"
#include "formats/convert_model.h"

namespace quern::cli {
namespace {

// The options of the command; a split size of 0 is one file.
struct ConvertFlags {
  std::string input;
  std::string output;
  uint64_t split_size = 0;
  bool is_merge = false;
  std::string order = "little";
};

// Prints the files that were written, one a line, then a sum.
Result<void> convert(const ConvertFlags& flags) {
  constexpr auto kLargest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (flags.split_size > kLargest) {
    return fail::invalid("The split size {} passes {} bytes.", flags.split_size, kLargest);
  }
  QUERN_ASSIGN_OR_RETURN(const auto source, GgufFile::open(flags.input));
  const std::endian order = flags.order == "big" ? std::endian::big : std::endian::little;
  ProgressBar bar("Writing");
  const auto report =
      convert_model(*source, flags.output, {order, static_cast<int64_t>(flags.split_size)},
                    [&](int64_t done, int64_t total) { bar.update(done, total); });
  bar.finish();
  if (!report) {
    return tl::unexpected(
        report.error().with_context(fmt::format("While converting '{}'", flags.input)));
  }
  for (const std::string& path : report->paths) fmt::print("{}\n", path);
  fmt::print("{} tensors, {} bytes of weights, {} {}\n", report->num_tensors, report->weight_bytes,
             report->paths.size(), report->paths.size() == 1 ? "file" : "files");
  return {};
}

}  // namespace

// Splitting and merging exclude each other.
void set_up_convert(OptionSet& command, Action& action) {
  auto flags = std::make_shared<ConvertFlags>();
  command.add_option("IN", flags->input, "GGUF file; of a split model, the first part").required();
  command.add_option("OUT", flags->output, "File to write; parts are named after it").required();
  Option split =
      command.add_option("--split-size", flags->split_size,
                         "The most weights of one file, as 500M or 2G (powers of 1,024)");
  split.size_with_unit();
  command.add_flag("--merge", flags->is_merge, "One file, the default").excludes(split);
  command.add_option("--endian", flags->order, "Byte order: little or big")
      .one_of({"little", "big"})
      .show_default();
  command.footer(
      "Examples:\n  quern convert model.gguf part.gguf --split-size 2G\n"
      "  quern convert part-00001-of-00003.gguf model.gguf --merge\n"
      "  quern convert model.gguf model-be.gguf --endian big");
  action = [flags] { return convert(*flags); };
}

}  // namespace quern::cli
