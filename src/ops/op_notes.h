// Sentences about types and edges that many operations share (OpDef::shape_rule, edge_rule).
#pragma once

namespace quern {

inline constexpr char kUnaryShapes[] = "x of any float type; the result has it.";
inline constexpr char kBinaryNumbers[] =
    "Floats or integers of one dtype and shape; the result has both.";
inline constexpr char kIeeeEdges[] =
    "NaN gives NaN; infinities give what the formula gives in IEEE arithmetic. No elements give "
    "none.";
inline constexpr char kCopyEdges[] =
    "Every value is copied bit for bit, NaN too. No elements give none.";

}  // namespace quern
