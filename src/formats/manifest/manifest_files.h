// A manifest's text with the files that it includes, as one tree.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "formats/manifest/yaml_tree.h"

namespace quern::manifest {

inline constexpr int kMaxIncludes = 128;    // of one manifest, files of files included
inline constexpr int kMaxIncludeDepth = 8;  // files inside files

// The text of an included file. `path` is relative to the manifest's folder, normalised, and never
// leads out of it.
using FileLoader = std::function<Result<std::string>(const std::string& path)>;

// A path as a manifest writes it, relative to the folder `base` inside the manifest's, from the
// manifest's folder on and without detours; nothing if it is absolute or leads out.
std::optional<std::string> path_inside_folder(const std::string& base, const std::string& written);

// Parses `text` and replaces each `!include PATH` by the content of that file, whose own paths are
// relative to itself. Errors: those of parse_yaml() and the loader; kInvalidArgument with file and
// line for a path that leads out of the folder, a file that includes itself, a limit passed.
Result<YamlNode> load_tree(std::string_view text, std::string_view file_name,
                           const FileLoader& load);

// Reads files of a folder, of at most kMaxYamlBytes each.
FileLoader folder_loader(std::string folder);
// The text of one file. Errors: kNotFound, kUnavailable, kInvalidArgument (too large).
Result<std::string> read_text_file(const std::string& path);

}  // namespace quern::manifest
