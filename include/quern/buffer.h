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

// What a backend implements to own bytes. Offsets and sizes are in bytes and checked by Buffer.
class BufferStorage {
 public:
  virtual ~BufferStorage() = default;
  virtual int64_t size_bytes() const = 0;
  // "host", "file", "cuda:0", ...
  virtual std::string_view place() const = 0;
  // The bytes in this process's memory; kFailedPrecondition for device memory.
  virtual Result<std::span<const std::byte>> host_view() const = 0;
  // kFailedPrecondition for device memory and for read-only storage.
  virtual Result<std::span<std::byte>> mutable_host_view() = 0;
  // Waits for pending work on the buffer, then copies.
  virtual Result<void> read(int64_t offset, std::span<std::byte> destination) const = 0;
  virtual Result<void> write(int64_t offset, std::span<const std::byte> source) = 0;
};

// A range of a storage. Copies share the storage. Thread-compatible.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::shared_ptr<BufferStorage> storage);
  // Zeroed host memory, 64-byte aligned, backed by huge pages where large and available.
  // Errors: kResourceExhausted.
  static Result<Buffer> allocate_host(int64_t size_bytes);
  // Borrows memory that `owner` keeps alive; read-only.
  static Buffer wrap_host(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

  bool is_empty() const { return storage_ == nullptr; }
  int64_t size_bytes() const { return size_bytes_; }
  std::string_view place() const;
  // Errors: kOutOfRange.
  Result<Buffer> slice(int64_t offset, int64_t size_bytes) const;

  Result<std::span<const std::byte>> host_view() const;
  Result<std::span<std::byte>> mutable_host_view();
  Result<void> read(int64_t offset, std::span<std::byte> destination) const;
  Result<void> write(int64_t offset, std::span<const std::byte> source);

 private:
  std::shared_ptr<BufferStorage> storage_;
  int64_t offset_ = 0;
  int64_t size_bytes_ = 0;
};

}  // namespace quern
