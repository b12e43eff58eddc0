// fused.elementwise: the whole program on one piece after another, its results in the first-level
// cache.
#include <algorithm>

#include "backends/cpu/steps/elementwise_pieces.h"
#include "backends/cpu/steps/program_operands.h"
#include "backends/cpu/steps/row_program.h"
#include "backends/cpu/steps/steps.h"

namespace quern::cpu {
namespace {

// Memory sees each operand once and the result once.
template <class T>
class FusedElementwiseStep final : public Step {
 public:
  FusedElementwiseStep(Machine& machine, RowProgram<T> program)
      : machine_(machine), program_(std::move(program)) {}

  Result<void> run(const StepContext& context) override {
    const Shape& shape = context.outputs[0].shape;
    const int64_t elements = shape.num_elements();
    if (elements == 0) return {};
    const ProgramOperands<T> operands(context.inputs, shape, kOwnPiece);
    const ResultPieces<T> result(machine_, context);
    const int64_t own = own_elements(operands);
    QUERN_ASSIGN_OR_RETURN(
        std::byte * memory,
        machine_.scratch(own * static_cast<int64_t>(sizeof(T)) * machine_.pool.num_threads()));
    const auto scratch = [&](int thread) { return reinterpret_cast<T*>(memory) + own * thread; };
    if (!operands.has_vectors()) {
      for_ranges(machine_.pool, elements, program_.cost(),
                 [&](int64_t begin, int64_t end, int thread) {
                   run_pieces({operands, result, scratch(thread)}, begin, end, 0, kOwnPiece);
                   result.finish_range();
                 });
      return {};
    }
    const int64_t columns = shape.last();
    for_ranges(machine_.pool, elements / columns, columns * program_.cost(),
               [&](int64_t begin, int64_t end, int thread) {
                 run_rows({operands, result, scratch(thread)}, begin, end, columns);
                 result.finish_range();
               });
    return {};
  }

 private:
  static constexpr int64_t kOwnPiece = RowProgram<T>::kPiece;

  struct Walk {
    const ProgramOperands<T>& operands;
    const ResultPieces<T>& result;
    T* scratch;  // slots of the program, converted operands, a result that does not go straight
  };

  int64_t own_elements(const ProgramOperands<T>& operands) const {
    return (program_.scratch_rows() + static_cast<int64_t>(operands.count()) + 1) * kOwnPiece;
  }

  // Whole rows at a time where they are short, pieces of one row where it is long.
  void run_rows(const Walk& walk, int64_t begin, int64_t end, int64_t columns) const {
    if (columns > kOwnPiece) {
      for (int64_t row = begin; row < end; ++row) {
        run_pieces(walk, row * columns, (row + 1) * columns, row * columns, kOwnPiece);
      }
      return;
    }
    const int64_t step = walk.operands.rows_per_piece();
    for (int64_t row = begin; row < end; row += step) {
      const int64_t last = std::min(end, row + step);
      run_pieces(walk, row * columns, last * columns, row * columns, step * columns);
    }
  }

  // Elements [begin, end) of the result; vectors start at element `first`.
  void run_pieces(const Walk& walk, int64_t begin, int64_t end, int64_t first,
                  int64_t piece) const {
    std::vector<const T*> inputs(walk.operands.count());
    T* converted = walk.scratch + program_.scratch_rows() * kOwnPiece;
    T* room = converted + static_cast<int64_t>(walk.operands.count()) * kOwnPiece;
    for_pieces(begin, end, piece, [&](int64_t i, int64_t n) {
      walk.operands.read(i, i - first, n, converted, inputs);
      T* to = walk.result.at(i, room);
      program_.run(inputs, to, n, walk.scratch);
      walk.result.put(i, n, to, inputs);
    });
  }

  Machine& machine_;
  RowProgram<T> program_;
};

}  // namespace

MadeStep make_fused_elementwise(const StepRequest& request) {
  const DType dtype = request.output_type(0).dtype;
  QUERN_ASSIGN_OR_RETURN(
      const FusedProgram program,
      parse_fused_program(request.attributes().text("program"), request.graph.registry()));
  if (!is_float(dtype)) return make_reference(request);
  return with_row_type(dtype, [&]<class T>(T) -> MadeStep {
    auto made = RowProgram<T>::make(program, dtype, request.machine);
    if (!made) return make_reference(request);
    return std::make_unique<FusedElementwiseStep<T>>(request.machine, std::move(*made));
  });
}

}  // namespace quern::cpu
