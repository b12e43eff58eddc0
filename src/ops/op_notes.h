// Sentences about types and edges that many operations share (OpDef::shape_rule, edge_rule).
#pragma once

namespace quern {

// Of y = f(x), element by element.
inline constexpr char kUnaryShapes[] = "x of any float type; the result has it.";
// Of arithmetic on two tensors without broadcasting.
inline constexpr char kBinaryNumbers[] =
    "Floats or integers of one dtype and shape; the result has both.";
// Of arithmetic.
inline constexpr char kIeeeEdges[] =
    "NaN gives NaN; infinities give what the formula gives in IEEE arithmetic. No elements give "
    "none.";
// Of what moves elements without reading them.
inline constexpr char kCopyEdges[] =
    "Every value is copied bit for bit, NaN too. No elements give none.";

}  // namespace quern
