// Includes.
// Paths are resolved relative to the including file, and stay inside of the manifest's folder.
#include "formats/manifest/manifest_files.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/mapped_file.h"

namespace quern::manifest {
namespace {

// A short name for the library's.
namespace fs = std::filesystem;

// Replaces !include by the tree of the file, depth first, within the limits. One manifest each.
class Includer {
 public:
  // `folder` is the manifest's, for errors.
  Includer(fs::path folder, const FileLoader& load) : folder_(std::move(folder)), load_(load) {}

  // `path` is relative to the manifest's folder.
  Result<YamlNode> parse(std::string_view text, const std::string& path) {
    QUERN_ASSIGN_OR_RETURN(YamlNode root, parse_yaml(text, (folder_ / path).generic_string()));
    num_values_ += count_values(root);
    if (num_values_ > kMaxYamlValues) {
      return error_at(root.place,
                      fmt::format("The manifest and the files it includes hold more than "
                                  "{} values.",
                                  kMaxYamlValues));
    }
    // A file may be included twice, but not while it is being read: only the chain is searched.
    chain_.push_back(path);
    QUERN_TRY(replace_includes(root));
    chain_.pop_back();
    return root;
  }

 private:
  // Everywhere in the tree.
  Result<void> replace_includes(YamlNode& node) {
    if (node.is_include) {
      QUERN_ASSIGN_OR_RETURN(node, include(node));
      return {};
    }
    for (YamlNode& item : node.items) QUERN_TRY(replace_includes(item));
    for (auto& [key, value] : node.members) QUERN_TRY(replace_includes(value));
    return {};
  }

  // Errors: outside of the folder, a circle, a limit, and those of reading the file.
  Result<YamlNode> include(const YamlNode& node) {
    if (++num_includes_ > kMaxIncludes) {
      return error_at(node.place,
                      fmt::format("The manifest includes more than {} files.", kMaxIncludes));
    }
    // The chain holds the manifest itself too, hence no ">=".
    if (chain_.size() > kMaxIncludeDepth) {
      return error_at(node.place,
                      fmt::format("Files are included more than {} deep.", kMaxIncludeDepth));
    }
    const auto inside =
        path_inside_folder(fs::path(chain_.back()).parent_path().string(), node.text);
    if (!inside) {
      return error_at(node.place,
                      fmt::format("The path '{}' is not inside the manifest's folder.", node.text));
    }
    const std::string path = *inside;
    if (std::ranges::find(chain_, path) != chain_.end()) {
      return error_at(node.place, fmt::format("'{}' includes itself.", path));
    }
    const auto text = load_(path);
    if (!text) return error_at(node.place, text.error());
    return parse(*text, path);
  }

  fs::path folder_;
  const FileLoader& load_;
  std::vector<std::string> chain_;  // the files that are being read, outermost first
  int num_includes_ = 0;
  int64_t num_values_ = 0;
};

}  // namespace

// Normalised; nothing for absolute paths, for ".." that leads out, and for folders.
std::optional<std::string> path_inside_folder(const std::string& base, const std::string& written) {
  const fs::path path = (fs::path(base) / written).lexically_normal();
  const bool is_folder = path == "." || !path.has_filename();
  // After lexical normalisation ".." stands only in front. Links in the folder are not resolved:
  // whoever owns the folder decides where they lead.
  const bool leads_out = path.empty() || *path.begin() == ".." || is_folder;
  if (written.empty() || fs::path(written).is_absolute() || leads_out) return std::nullopt;
  return path.generic_string();
}

// The whole tree of a manifest, with places in the files that it came from.
Result<YamlNode> load_tree(std::string_view text, std::string_view file_name,
                           const FileLoader& load) {
  const fs::path path(file_name);
  return Includer(path.parent_path(), load).parse(text, path.filename().string());
}

// Errors: kNotFound, and kInvalidArgument for files past kMaxYamlBytes.
Result<std::string> read_text_file(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const auto mapped, MappedFile::open(path));
  const auto bytes = mapped->bytes();
  if (bytes.size() > kMaxYamlBytes) {
    return fail::invalid("'{}' has {} bytes; the limit is {}.", path, bytes.size(), kMaxYamlBytes);
  }
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// Reads below `folder`; paths were checked by path_inside_folder().
FileLoader folder_loader(std::string folder) {
  return [folder = std::move(folder)](const std::string& path) {
    return read_text_file((fs::path(folder) / path).string());
  };
}

}  // namespace quern::manifest
