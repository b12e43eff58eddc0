// Integer tensors as i64.
#include "ops/index_access.h"

#include "base/check.h"

namespace quern {
namespace {

// The elements as i64; every admitted type fits.
// The range constructor converts each element; u32 fits i64, which is why u64 alone is missing.
template <class Int>
std::vector<int64_t> widen(const TensorView& view) {
  const Int* values = view.as<const Int>();
  return {values, values + view.shape.num_elements()};
}

}  // namespace

// The integers of a port that holds indices, extents or offsets; none for an absent port.
std::vector<int64_t> load_indices(const TensorView& view) {
  if (!view.is_present()) return {};
  switch (view.dtype) {
    case DType::kI64:
      return widen<int64_t>(view);
    case DType::kI32:
      return widen<int32_t>(view);
    case DType::kI16:
      return widen<int16_t>(view);
    case DType::kI8:
      return widen<int8_t>(view);
    case DType::kU32:
      return widen<uint32_t>(view);
    case DType::kU16:
      return widen<uint16_t>(view);
    case DType::kU8:
      return widen<uint8_t>(view);
    // u64 and packed types: the type rules of all callers refuse them.
    default:
      QUERN_CHECK(!"the type rule admits integers only");
      return {};
  }
}

}  // namespace quern
