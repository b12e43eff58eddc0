// fused.matmul: a program on the results of math.matmul, tile by tile; fused.attention: blocks of
// query rows through both products, so that no more than a block of scores exists.
#include <algorithm>

#include "backends/cpu/kernels/linear.h"
#include "backends/cpu/steps/program_operands.h"
#include "backends/cpu/steps/row_program.h"
#include "backends/cpu/steps/steps.h"

namespace quern::cpu {
namespace {

template <class T>
int64_t bytes_of(int64_t elements) {
  return round_up(elements * static_cast<int64_t>(sizeof(T)), 64);
}

// Rows [begin, end) of a matrix as T: in place, or converted to `room`.
template <class T>
const T* matrix_rows(const TensorView& view, int64_t begin, int64_t end, T* room) {
  const int64_t columns = view.shape.last();
  if (view.dtype == kDTypeOf<T>) return view.as<const T>() + begin * columns;
  load_row(view, begin * columns, (end - begin) * columns, room);
  return room;
}

// Scratch of a step, cut into parts of 64-byte alignment.
class Cutter {
 public:
  explicit Cutter(std::byte* memory) : at_(memory) {}
  template <class T>
  T* take(int64_t elements) {
    T* part = reinterpret_cast<T*>(at_);
    at_ += bytes_of<T>(elements);
    return part;
  }

 private:
  std::byte* at_;
};

// What both steps do with the results of a product: rows [first_row, ...) of the whole result.
template <class T>
struct TileProgram {
  const RowProgram<T>& program;
  const ProgramOperands<T>& operands;
  T* results;  // of rows from first_row on, before and after
  int64_t columns;
  int64_t first_row;
  T* scratch;  // own_elements() for each thread

  static constexpr int64_t kPiece = RowProgram<T>::kPiece;
  static int64_t own_elements(const RowProgram<T>& program, size_t num_operands) {
    return (program.scratch_rows() + static_cast<int64_t>(num_operands)) * kPiece;
  }

  void run(const ResultTile& tile) const {
    T* own = scratch + own_elements(program, operands.count()) * tile.thread;
    T* converted = own + program.scratch_rows() * kPiece;
    std::vector<const T*> inputs(1 + operands.count());
    for (int64_t row = tile.token_begin; row < tile.token_end; ++row) {
      for (int64_t i = tile.row_begin; i < tile.row_end; i += kPiece) {
        const int64_t n = std::min(kPiece, tile.row_end - i);
        T* y = results + row * columns + i;
        inputs[0] = y;
        operands.read((first_row + row) * columns + i, i, n, converted,
                      std::span(inputs).subspan(1));
        program.run(inputs, y, n, own);
      }
    }
  }
};

template <class T>
class FusedMatmulStep final : public Step {
 public:
  FusedMatmulStep(const StepRequest& request, RowProgram<T> program)
      : machine_(request.machine), fuses_(request.fuses_products()), program_(std::move(program)) {}

  Result<void> run(const StepContext& context) override {
    const TensorView& a = context.inputs[0];
    const TensorView& b = context.inputs[1];
    const TensorView& c = context.outputs[0];
    const bool is_direct = c.dtype == kDTypeOf<T>;
    MatmulCall<T> call{.m = a.shape[0], .k = a.shape[1], .n = b.shape[1], .fuses = fuses_};
    const ProgramOperands<T> operands(context.inputs.subspan(2), c.shape, kPiece);
    const int64_t product = matmul_scratch_bytes<T>(machine_.kernels, {call.m, call.k, call.n},
                                                    machine_.pool.num_threads());
    const int64_t slots =
        TileProgram<T>::own_elements(program_, operands.count()) * machine_.pool.num_threads();
    const int64_t wide = is_direct ? 0
                                   : bytes_of<T>(a.shape.num_elements()) +
                                         bytes_of<T>(b.shape.num_elements()) +
                                         bytes_of<T>(c.shape.num_elements());
    QUERN_ASSIGN_OR_RETURN(std::byte * memory,
                           machine_.scratch(round_up(product, 64) + bytes_of<T>(slots) + wide));
    call.scratch = memory;
    Cutter rest(memory + round_up(product, 64));
    T* slot_memory = rest.take<T>(slots);
    call.a = is_direct ? a.as<const T>()
                       : matrix_rows(a, 0, call.m, rest.take<T>(a.shape.num_elements()));
    call.b = is_direct ? b.as<const T>()
                       : matrix_rows(b, 0, call.k, rest.take<T>(b.shape.num_elements()));
    call.c = is_direct ? c.as<T>() : rest.take<T>(c.shape.num_elements());
    const TileProgram<T> tiles{program_, operands, call.c, call.n, 0, slot_memory};
    const TileFunction finish = [&](const ResultTile& tile) {
      round_results(c.dtype, call, tile);
      tiles.run(tile);
    };
    call.finish = &finish;
    matmul(call, machine_.kernels, machine_.pool);
    if (!is_direct) store_row(c, 0, c.shape.num_elements(), call.c);
    return {};
  }

 private:
  static constexpr int64_t kPiece = RowProgram<T>::kPiece;

  // The product alone would have been stored in the narrow type.
  void round_results(DType dtype, const MatmulCall<T>& call, const ResultTile& tile) const {
    if (dtype == kDTypeOf<T>) return;
    for (int64_t row = tile.token_begin; row < tile.token_end; ++row) {
      program_.round_to_dtype(call.c + row * call.n + tile.row_begin,
                              tile.row_end - tile.row_begin);
    }
  }

  Machine& machine_;
  bool fuses_;  // products and sums round once
  RowProgram<T> program_;
};

// Query rows of a block: their scores stay in the second-level cache up to some thousand keys.
constexpr int64_t kQueryRows = 64;

template <class T>
class FusedAttentionStep final : public Step {
 public:
  FusedAttentionStep(const StepRequest& request, RowProgram<T> program)
      : machine_(request.machine), fuses_(request.fuses_products()), program_(std::move(program)) {}

  Result<void> run(const StepContext& context) override;

 private:
  static constexpr int64_t kPiece = RowProgram<T>::kPiece;

  void softmax_rows(T* rows, int64_t num_rows, int64_t n) const {
    if (n == 0) return;
    const auto kernel = softmax_kernel();
    for_ranges(machine_.pool, num_rows, 8 * n, [&](int64_t begin, int64_t end, int) {
      for (int64_t r = begin; r < end; ++r) {
        kernel(rows + r * n, rows + r * n, n);
        program_.round_to_dtype(rows + r * n, n);
      }
    });
  }
  auto softmax_kernel() const { return functions_of<T>(machine_.kernels.softmax).softmax; }

  Machine& machine_;
  bool fuses_;  // products and sums round once
  RowProgram<T> program_;
};

template <class T>
Result<void> FusedAttentionStep<T>::run(const StepContext& context) {
  const TensorView& q = context.inputs[0];
  const TensorView& kt = context.inputs[1];
  const TensorView& v = context.inputs[2];
  const TensorView& out = context.outputs[0];
  const int64_t queries = q.shape[0], width = q.shape[1], keys = kt.shape[1];
  const int64_t values = v.shape[1];
  if (queries == 0 || values == 0) return {};
  const int64_t block = std::min(queries, kQueryRows);
  const ProgramOperands<T> operands(context.inputs.subspan(3), Shape{queries, keys}, kPiece);
  const auto scratch_of = [&](const MatmulSize& size) {
    return matmul_scratch_bytes<T>(machine_.kernels, size, machine_.pool.num_threads());
  };
  // The last block may have fewer rows: its packed form is another one.
  const int64_t last = queries % block == 0 ? block : queries % block;
  const int64_t product =
      round_up(std::max({scratch_of({block, width, keys}), scratch_of({block, keys, values}),
                         scratch_of({last, width, keys}), scratch_of({last, keys, values})}),
               64);
  const int64_t slots =
      TileProgram<T>::own_elements(program_, operands.count()) * machine_.pool.num_threads();
  QUERN_ASSIGN_OR_RETURN(
      std::byte * memory,
      machine_.scratch(product + bytes_of<T>(slots) + bytes_of<T>(block * keys) +
                       bytes_of<T>(block * width) + bytes_of<T>(width * keys) +
                       bytes_of<T>(keys * values) + bytes_of<T>(block * values)));
  Cutter rest(memory + product);
  T* slot_memory = rest.take<T>(slots);
  T* scores = rest.take<T>(block * keys);
  T* wide_q = rest.take<T>(block * width);
  const T* wide_kt = matrix_rows(kt, 0, width, rest.take<T>(width * keys));
  const T* wide_v = matrix_rows(v, 0, keys, rest.take<T>(keys * values));
  T* results = rest.take<T>(block * values);
  for (int64_t first = 0; first < queries; first += block) {
    const int64_t m = std::min(block, queries - first);
    const TileProgram<T> tiles{program_, operands, scores, keys, first, slot_memory};
    const TileFunction finish = [&](const ResultTile& tile) {
      for (int64_t row = tile.token_begin; row < tile.token_end; ++row) {
        program_.round_to_dtype(scores + row * keys + tile.row_begin,
                                tile.row_end - tile.row_begin);
      }
      tiles.run(tile);
    };
    matmul<T>({.m = m,
               .k = width,
               .n = keys,
               .a = matrix_rows(q, first, first + m, wide_q),
               .b = wide_kt,
               .c = scores,
               .fuses = fuses_,
               .scratch = memory,
               .finish = &finish},
              machine_.kernels, machine_.pool);
    softmax_rows(scores, m, keys);
    const bool is_direct = out.dtype == kDTypeOf<T>;
    T* to = is_direct ? out.as<T>() + first * values : results;
    matmul<T>({.m = m,
               .k = keys,
               .n = values,
               .a = scores,
               .b = wide_v,
               .c = to,
               .fuses = fuses_,
               .scratch = memory},
              machine_.kernels, machine_.pool);
    if (!is_direct) store_row(out, first * values, m * values, to);
  }
  return {};
}

template <template <class> class StepOf>
MadeStep make_with_program(const StepRequest& request) {
  QUERN_ASSIGN_OR_RETURN(
      const FusedProgram program,
      parse_fused_program(request.attributes().text("program"), request.graph.registry()));
  const DType dtype = request.output_type(0).dtype;
  return with_row_type(dtype, [&]<class T>(T) -> MadeStep {
    auto made = RowProgram<T>::make(program, dtype, request.machine);
    if (!made) return make_reference(request);
    return std::make_unique<StepOf<T>>(request, std::move(*made));
  });
}

}  // namespace

MadeStep make_fused_matmul(const StepRequest& request) {
  return make_with_program<FusedMatmulStep>(request);
}
MadeStep make_fused_attention(const StepRequest& request) {
  return make_with_program<FusedAttentionStep>(request);
}

}  // namespace quern::cpu
