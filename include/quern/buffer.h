// Opaque storage: host memory, device memory or a mapped file behind one handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "quern/error.h"

namespace quern {

// What a backend implements to own bytes. Offsets and sizes are in bytes and checked by Buffer, so
// an implementation sees valid ranges only. The destructor frees the memory.
// Thread-compatible: reads may run at once, a write excludes everything else.
class BufferStorage {
 public:
  virtual ~BufferStorage() = default;
  // Size of the whole storage; it never changes.
  virtual int64_t size_bytes() const = 0;
  // "host", "file", "cuda:0", ...
  virtual std::string_view place() const = 0;
  // The bytes in this process's memory; kFailedPrecondition for device memory.
  virtual Result<std::span<const std::byte>> host_view() const = 0;
  // kFailedPrecondition for device memory and for read-only storage.
  virtual Result<std::span<std::byte>> mutable_host_view() = 0;
  // Waits for pending work on the buffer, then copies destination.size() bytes from `offset`.
  virtual Result<void> read(int64_t offset, std::span<std::byte> destination) const = 0;
  // Copies `source` to `offset`; it is no longer needed when the call returns.
  // Errors: kFailedPrecondition for read-only storage.
  virtual Result<void> write(int64_t offset, std::span<const std::byte> source) = 0;
};

// A range of a storage. Copies and slices share the storage, which is freed with the last of them.
// An empty buffer has no storage: its size is 0 and every access fails with kFailedPrecondition.
// Thread-compatible.
class Buffer {
 public:
  Buffer() = default;
  // The whole of `storage`; null gives an empty buffer.
  explicit Buffer(std::shared_ptr<BufferStorage> storage);
  // Zeroed host memory, 64-byte aligned, backed by huge pages where large and available.
  // Errors: kInvalidArgument for a negative size, kResourceExhausted.
  static Result<Buffer> allocate_host(int64_t size_bytes);
  // Borrows memory that `owner` keeps alive, e.g. a mapped file; read-only, place() is "file".
  static Buffer wrap_host(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

  // No storage at all; a range of 0 bytes of a storage is not empty in this sense.
  bool is_empty() const { return storage_ == nullptr; }
  int64_t size_bytes() const { return size_bytes_; }
  // Where the bytes are: "host", "file", a device's name, or "nowhere" for an empty buffer.
  std::string_view place() const;
  // Bytes [offset, offset + size_bytes) as a buffer on the same storage.
  // Errors: kOutOfRange.
  Result<Buffer> slice(int64_t offset, int64_t size_bytes) const;

  // The bytes in this process's memory; valid as long as a buffer on the storage lives.
  // Errors: kFailedPrecondition for device memory and for an empty buffer.
  Result<std::span<const std::byte>> host_view() const;
  // The same, to write to. Errors: also kFailedPrecondition for read-only storage.
  Result<std::span<std::byte>> mutable_host_view();
  // Copies destination.size() bytes from `offset` to host memory, after pending work on them.
  // Errors: kOutOfRange, kFailedPrecondition for an empty buffer, and the storage's own.
  Result<void> read(int64_t offset, std::span<std::byte> destination) const;
  // Copies `source` to `offset`. Errors as for read(), and kFailedPrecondition where read-only.
  Result<void> write(int64_t offset, std::span<const std::byte> source);

 private:
  std::shared_ptr<BufferStorage> storage_;
  int64_t offset_ = 0;
  int64_t size_bytes_ = 0;
};

}  // namespace quern
