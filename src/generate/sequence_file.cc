// Layout, little-endian: magic, version u32, flags u32, fingerprint u64, tokens u64, ids i32 each,
// bytes u64, rows as KvStore::export_rows gives them, checksum u64 of everything before it.
#include "generate/sequence_file.h"

#include <bit>
#include <cstring>

#include "base/atomic_file.h"
#include "base/fail.h"
#include "base/hash.h"
#include "base/mapped_file.h"
#include "generate/weight_hash.h"
#include "models/adapter.h"

namespace quern {
namespace {

// A big-endian build would need rows swapped by their types.
static_assert(std::endian::native == std::endian::little, "rows are stored in host order");

// The first bytes of every file, and the only layout that this build reads.
constexpr char kMagic[8] = {'Q', 'U', 'E', 'R', 'N', 'K', 'V', '\0'};
// Raised with each change of the layout.
// Version 1 had no flags.
constexpr uint32_t kVersion = 2;
constexpr uint32_t kHasLongFactors = 1;  // a flag

// Appends the bytes of a plain value.
template <class T>
void put(std::vector<std::byte>& out, const T& value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof(T));
}

// Reads the parts of a file in order, never past its end.
class Cursor {
 public:
  // Borrows the bytes.
  Cursor(std::span<const std::byte> bytes, std::string path)
      : bytes_(bytes), path_(std::move(path)) {}

  // A number of the file's order, which is the host's.
  template <class T>
  Result<T> get() {
    QUERN_ASSIGN_OR_RETURN(const auto part, take(sizeof(T)));
    T value;
    std::memcpy(&value, part.data(), sizeof(T));
    return value;
  }
  // Errors: kDataLoss for bytes that nothing read.
  Result<void> expect_end() const {
    if (at_ == bytes_.size()) return {};
    return fail::data_loss("File '{}' has {} bytes behind its rows, at offset {}.", path_,
                           bytes_.size() - at_, at_);
  }
  // Errors name the offset.
  Result<std::span<const std::byte>> take(uint64_t size) {
    // Never negative: at_ moves only after this check.
    if (size > bytes_.size() - at_) {
      return fail::data_loss("File '{}' ends inside a part of {} bytes at offset {}.", path_, size,
                             at_);
    }
    const auto part = bytes_.subspan(at_, size);
    at_ += size;
    return part;
  }

 private:
  std::span<const std::byte> bytes_;
  std::string path_;
  size_t at_ = 0;
};

// For accidents, not for malice.
uint64_t hash_of(std::span<const std::byte> bytes) {
  return Hasher().bytes(bytes.data(), bytes.size()).digest();
}

// Magic and checksum. The checksum finds accidents, not malice: later parts are checked too.
Result<void> check_file(std::span<const std::byte> bytes, const std::string& path) {
  // Room for both ends, or the subtraction below would wrap.
  if (bytes.size() < sizeof(kMagic) + 8 || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0) {
    return fail::data_loss("File '{}' is no saved sequence.", path);
  }
  uint64_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + bytes.size() - 8, 8);
  if (checksum != hash_of(bytes.first(bytes.size() - 8))) {
    return fail::data_loss("File '{}' is damaged: its checksum does not fit.", path);
  }
  return {};
}

}  // namespace

// Everything that changes a bit of the rows.
uint64_t model_fingerprint(const Engine& engine) {
  Hasher hasher;
  hasher.number(semantic_hash(engine.model().graph));
  hasher.number(static_cast<uint64_t>(engine.numerics()));
  hash_weights(engine.file(), hasher);
  // Scales of adapters are attributes of the graph and in its hash already.
  for (const auto& adapter : engine.adapters()) hash_weights(*adapter->weights, hasher);
  return hasher.digest();
}

// The whole file is made in memory: the checksum at its end covers all of it.
Result<void> save_sequence(Engine& engine, int32_t sequence, std::span<const int32_t> tokens,
                           const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const int64_t length, engine.kv().length(sequence));
  if (length != static_cast<int64_t>(tokens.size())) {
    return fail::invalid("{} tokens do not stand for a sequence of {} rows.", tokens.size(),
                         length);
  }
  QUERN_ASSIGN_OR_RETURN(const auto rows, engine.kv().export_rows(sequence));
  std::vector<std::byte> out;
  // A byte each: the zero at the end belongs to the magic.
  for (const char c : kMagic) out.push_back(static_cast<std::byte>(c));
  put(out, kVersion);
  put(out, engine.has_long_factors(sequence) ? kHasLongFactors : 0U);
  put(out, model_fingerprint(engine));
  put(out, static_cast<uint64_t>(tokens.size()));
  for (const int32_t token : tokens) put(out, token);
  put(out, static_cast<uint64_t>(rows.size()));
  out.insert(out.end(), rows.begin(), rows.end());
  put(out, hash_of(out));
  QUERN_ASSIGN_OR_RETURN(auto file, AtomicFile::create(path));
  QUERN_TRY(file.write(out));
  return file.commit();
}

// Checks each field before the next is read.
Result<LoadedSequence> load_sequence(Engine& engine, const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path));
  QUERN_TRY(check_file(file->bytes(), path));
  // The checksum at the end is no content.
  Cursor cursor(file->bytes().first(file->bytes().size() - 8), path);
  QUERN_TRY(cursor.take(sizeof(kMagic)));
  QUERN_ASSIGN_OR_RETURN(const auto version, cursor.get<uint32_t>());
  if (version != kVersion) {
    return fail::unimplemented("File '{}' has version {}; this build reads version {}.", path,
                               version, kVersion);
  }
  QUERN_ASSIGN_OR_RETURN(const auto flags, cursor.get<uint32_t>());
  QUERN_ASSIGN_OR_RETURN(const auto fingerprint, cursor.get<uint64_t>());
  if (fingerprint != model_fingerprint(engine)) {
    return fail::invalid(
        "File '{}' belongs to another model, or to other settings of this one: cache "
        "types, activations, adapters, rotary overrides, numerics.",
        path);
  }
  LoadedSequence loaded;
  QUERN_ASSIGN_OR_RETURN(const auto count, cursor.get<uint64_t>());
  // Before anything of that size is made.
  if (count > static_cast<uint64_t>(engine.context_length())) {
    return fail::out_of_range("File '{}' holds {} tokens; the context has {}.", path, count,
                              engine.context_length());
  }
  for (uint64_t i = 0; i < count; ++i) {
    QUERN_ASSIGN_OR_RETURN(const auto token, cursor.get<int32_t>());
    if (token < 0 || token >= engine.model().vocab_size) {
      return fail::data_loss("File '{}' holds token {}; the vocabulary has {}.", path, token,
                             engine.model().vocab_size);
    }
    loaded.tokens.push_back(token);
  }
  QUERN_ASSIGN_OR_RETURN(const auto size, cursor.get<uint64_t>());
  // import_rows() compares the size with what the tokens need.
  QUERN_ASSIGN_OR_RETURN(const auto rows, cursor.take(size));
  QUERN_TRY(cursor.expect_end());
  QUERN_ASSIGN_OR_RETURN(
      loaded.sequence, engine.import_sequence(loaded.tokens, rows, (flags & kHasLongFactors) != 0));
  return loaded;
}

}  // namespace quern
