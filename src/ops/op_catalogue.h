// The published catalogue: the operations that graphs name, the methods that backend surfaces name,
// and how the two meet. Every id here must be registered; the engine has further operations.
#pragma once

#include <span>
#include <string_view>

namespace quern {

// What a published graph operation stands on.
enum class OpLink {
  kDirect,     // one method of a surface
  kComposite,  // several methods
  kRegistry,   // a kernel of its own, outside the surfaces
  kGraphOnly,  // the graph itself: binding, composition, bookkeeping
};
// "direct", "composite", "registry" or "graph-only".
std::string_view op_link_name(OpLink link);

struct RequiredOp {
  std::string_view id;  // "math.rmsnorm"
  OpLink link;
  std::string_view methods;  // "LayerNorm.RMSNorm"; several with spaces between; may be empty
};

// A method of a surface, and the operation through which graphs reach it.
struct SurfaceMethod {
  std::string_view name;  // "Surface.Method"
  std::string_view id;
};

// The 119 operations, in the catalogue's order.
// Both lists have static lifetime.
std::span<const RequiredOp> required_ops();
// The 151 methods of 25 surfaces.
std::span<const SurfaceMethod> surface_methods();

// Null for operations outside the catalogue and for those that only surfaces name.
const RequiredOp* find_required(std::string_view id);
// Whether one of the 119 stands on this method; false for 88 of them.
bool is_required_method(std::string_view name);

}  // namespace quern
