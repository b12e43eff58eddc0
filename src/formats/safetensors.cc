// Data of safetensors files.
// Tensors point into the mapped file.
#include "formats/safetensors.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "base/atomic_file.h"
#include "base/checked_math.h"
#include "base/fail.h"
#include "base/mapped_file.h"

namespace quern {
namespace {

// As weight sources list it.
WeightInfo info_of(const safetensors::Entry& entry) {
  return {entry.name, *entry.type->dtype, entry.shape};
}

// Errors: types that the format does not have.
Result<const safetensors::ElementType*> type_for(const NamedTensor& item) {
  const auto* type = safetensors::find_element_type(item.tensor.dtype(), item.is_bool);
  if (type != nullptr) return type;
  return fail::unimplemented("Tensor '{}' is {}{}; safetensors has no such type.", item.name,
                             dtype_name(item.tensor.dtype()), item.is_bool ? " with bools" : "");
}

// Places for all tensors, and the order to write them in.
Result<safetensors::Header> plan_places(std::span<const NamedTensor> tensors,
                                        std::vector<size_t>& order) {
  std::vector<const safetensors::ElementType*> types;
  std::set<std::string_view> names{"__metadata__"};
  for (const NamedTensor& item : tensors) {
    if (!names.insert(item.name).second) {
      return fail::invalid("The tensor name '{}' is used twice or reserved.", item.name);
    }
    QUERN_ASSIGN_OR_RETURN(const auto* type, type_for(item));
    types.push_back(type);
  }
  order.resize(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) {
    if (types[a] != types[b]) return types[a] > types[b];  // both of one table, by rising size
    return tensors[a].name < tensors[b].name;
  });
  safetensors::Header header;
  int64_t offset = 0;
  for (const size_t i : order) {
    const auto end = checked_add(offset, tensors[i].tensor.size_bytes());
    if (!end) return fail::invalid("The tensors are together larger than 2^63 bytes.");
    header.entries.push_back({tensors[i].name, types[i], tensors[i].tensor.shape(), offset, *end});
    offset = *end;
  }
  return header;
}

}  // namespace

// Offsets were checked against the size. `owner` keeps the bytes alive.
Result<std::shared_ptr<SafetensorsFile>> SafetensorsFile::parse(std::span<const std::byte> bytes,
                                                                std::shared_ptr<const void> owner) {
  std::shared_ptr<SafetensorsFile> file(new SafetensorsFile());
  QUERN_ASSIGN_OR_RETURN(file->header_, safetensors::read_header(bytes));
  file->bytes_ = bytes;
  file->owner_ = std::move(owner);
  for (size_t i = 0; i < file->header_.entries.size(); ++i) {
    file->index_.emplace(file->header_.entries[i].name, i);
  }
  return file;
}

Result<std::shared_ptr<SafetensorsFile>> SafetensorsFile::open(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const auto mapped, MappedFile::open(path));
  auto file = parse(mapped->bytes(), mapped);
  if (!file) {
    return tl::unexpected(file.error().with_context(fmt::format("While reading '{}'", path)));
  }
  return file;
}

std::vector<WeightInfo> SafetensorsFile::list() const {
  std::vector<WeightInfo> infos;
  for (const safetensors::Entry& entry : header_.entries) {
    if (entry.type->dtype) infos.push_back(info_of(entry));
  }
  return infos;
}

// Errors: kNotFound with the name.
Result<const safetensors::Entry*> SafetensorsFile::require(std::string_view name) const {
  const auto it = index_.find(name);
  if (it == index_.end()) return fail::not_found("The file has no tensor '{}'.", name);
  const safetensors::Entry& entry = header_.entries[it->second];
  if (entry.type->dtype) return &entry;
  return fail::unimplemented("Tensor '{}' has the dtype {}, which Quern does not read.", name,
                             entry.type->name);
}

Result<WeightInfo> SafetensorsFile::info(std::string_view name) const {
  QUERN_ASSIGN_OR_RETURN(const auto* entry, require(name));
  return info_of(*entry);
}

// Points into the file.
Result<Tensor> SafetensorsFile::weight(std::string_view name) const {
  QUERN_ASSIGN_OR_RETURN(const auto* entry, require(name));
  const auto data = bytes_.subspan(static_cast<size_t>(header_.data_start + entry->begin),
                                   static_cast<size_t>(entry->end - entry->begin));
  // Kernels read elements in place. Old writers do not pad the header, so this is not a given.
  const auto width = static_cast<uintptr_t>(dtype_info(*entry->type->dtype).block_bytes);
  if (data.empty() || reinterpret_cast<uintptr_t>(data.data()) % width != 0) {
    return Tensor::from_bytes(*entry->type->dtype, entry->shape, data);
  }
  return Tensor::make(*entry->type->dtype, entry->shape, Buffer::wrap_host(data, owner_));
}

// Tensors in the given order, without gaps; the file replaces an older one only when it is whole.
Result<void> write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                               const std::map<std::string, std::string, std::less<>>& metadata) {
  std::vector<size_t> order;
  QUERN_ASSIGN_OR_RETURN(safetensors::Header header, plan_places(tensors, order));
  header.metadata = metadata;
  QUERN_ASSIGN_OR_RETURN(const std::string text, safetensors::make_header(header));
  QUERN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  QUERN_TRY(file.write(text));
  for (const size_t i : order) {
    QUERN_ASSIGN_OR_RETURN(const auto bytes, tensors[i].tensor.read());
    QUERN_TRY(file.write(bytes));
  }
  return file.commit();
}

}  // namespace quern
