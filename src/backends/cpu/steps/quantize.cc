// quant.dynamic, in plain form, in the packed form of the products, or both; and fused.quantize,
// which makes the rows that it quantises.
#include "backends/cpu/kernels/activation_packing.h"
#include "backends/cpu/steps/float_rows.h"
#include "backends/cpu/steps/program_operands.h"
#include "backends/cpu/steps/row_program.h"
#include "backends/cpu/steps/steps.h"
#include "base/fail.h"

namespace quern::cpu {
namespace {

// Writes rows of floats in the forms that somebody reads.
class QuantizeWriter {
 public:
  QuantizeWriter(Machine& machine, const Attributes& attributes)
      : machine_(machine),
        block_(attributes.integer("block")),
        bits_(static_cast<int>(attributes.integer("bits"))) {}

  // The integers have the shape of what is quantised.
  ActivationLayout layout_of(const Shape& q) const {
    return make_activation_layout(q.num_rows(), q.last(), static_cast<int>(block_), bits_);
  }

  static bool wants_plain(const StepContext& context) {
    return context.outputs[0].is_present() || context.outputs[1].is_present();
  }

  // Where only the integers or only the scales are read, the others go to memory of the step.
  Result<void> write_plain(const StepContext& context, const float* rows) {
    const Shape& shape = context.outputs[0].shape;
    QuantizeRows call{.x = rows,
                      .num_rows = shape.num_rows(),
                      .columns = shape.last(),
                      .block = block_,
                      .bits = bits_,
                      .q = context.outputs[0].data,
                      .d = context.outputs[1].as<float>()};
    if (call.q == nullptr) {
      unread_.resize(static_cast<size_t>(shape.num_elements() * bits_ / 8));
      call.q = unread_.data();
    }
    if (call.d == nullptr) {
      unread_.resize(static_cast<size_t>(context.outputs[1].shape.num_elements()) * sizeof(float));
      call.d = reinterpret_cast<float*>(unread_.data());
    }
    quantize_rows(call, machine_.kernels, machine_.pool);
    return {};
  }

  void write_packed(const StepContext& context, const ActivationRows& rows) const {
    pack_activation_rows(layout_of(context.outputs[0].shape), machine_.kernels, rows,
                         context.packed_output, machine_.pool);
  }

 private:
  Machine& machine_;
  int64_t block_;
  int bits_;
  std::vector<std::byte> unread_;
};

class QuantizeStep final : public Step {
 public:
  QuantizeStep(Machine& machine, const Attributes& attributes)
      : machine_(machine), writer_(machine, attributes) {}

  Result<void> run(const StepContext& context) override {
    const TensorView& x = context.inputs[0];
    const float* rows = x.as<const float>();
    if (x.dtype != DType::kF32) {
      const int64_t n = x.shape.num_elements();
      QUERN_ASSIGN_OR_RETURN(std::byte * scratch,
                             machine_.scratch(n * static_cast<int64_t>(sizeof(float))));
      load_row(x, 0, n, reinterpret_cast<float*>(scratch));
      rows = reinterpret_cast<const float*>(scratch);
    }
    if (context.packed_output != nullptr) {
      const int64_t columns = x.shape.last();
      writer_.write_packed(context, [&](int64_t t, int) { return rows + t * columns; });
    }
    return QuantizeWriter::wants_plain(context) ? writer_.write_plain(context, rows)
                                                : Result<void>{};
  }

 private:
  Machine& machine_;
  QuantizeWriter writer_;
};

// T is the type that the program computes in.
template <class T>
class FusedQuantizeStep final : public Step {
 public:
  FusedQuantizeStep(Machine& machine, const Attributes& attributes, RowProgram<T> program)
      : machine_(machine), writer_(machine, attributes), program_(std::move(program)) {}

  Result<void> run(const StepContext& context) override {
    const Shape& shape = context.outputs[0].shape;
    const int64_t rows = shape.num_rows(), columns = shape.last();
    // A vector never repeats inside a row.
    const ProgramOperands<T> operands(context.inputs, shape, columns);
    const int64_t row_size = round_up(columns, 64);
    const auto num_operands = static_cast<int64_t>(operands.count());
    // Slots and converted operands of a row, its result, and the result as f32, for each thread.
    const int64_t own = (program_.scratch_rows() + num_operands + 2) * row_size;
    const bool has_all = QuantizeWriter::wants_plain(context);
    const int64_t all = has_all ? rows * columns : 0;
    QUERN_ASSIGN_OR_RETURN(
        std::byte * memory,
        machine_.scratch(own * static_cast<int64_t>(sizeof(T)) * machine_.pool.num_threads() +
                         all * static_cast<int64_t>(sizeof(float))));
    auto* all_rows = reinterpret_cast<float*>(memory + own * static_cast<int64_t>(sizeof(T)) *
                                                           machine_.pool.num_threads());
    const auto make_row = [&](int64_t row, int thread) -> const float* {
      T* scratch = reinterpret_cast<T*>(memory) + own * thread;
      T* converted = scratch + program_.scratch_rows() * row_size;
      T* result = converted + num_operands * row_size;
      std::vector<const T*> inputs(operands.count());
      operands.read(row * columns, 0, columns, converted, inputs);
      program_.run(inputs, result, columns, scratch);
      if constexpr (std::is_same_v<T, float>) {
        return result;
      } else {
        auto* rounded = reinterpret_cast<float*>(result + row_size);
        for (int64_t i = 0; i < columns; ++i) rounded[i] = static_cast<float>(result[i]);
        return rounded;
      }
    };
    if (context.packed_output != nullptr) writer_.write_packed(context, make_row);
    if (!has_all) return {};
    for_ranges(machine_.pool, rows, columns * program_.cost(),
               [&](int64_t begin, int64_t end, int thread) {
                 for (int64_t row = begin; row < end; ++row) {
                   std::copy_n(make_row(row, thread), columns, all_rows + row * columns);
                 }
               });
    return writer_.write_plain(context, all_rows);
  }

 private:
  Machine& machine_;
  QuantizeWriter writer_;
  RowProgram<T> program_;
};

}  // namespace

MadeStep make_quantize(const StepRequest& request) {
  return std::make_unique<QuantizeStep>(request.machine, request.attributes());
}

MadeStep make_fused_quantize(const StepRequest& request) {
  QUERN_ASSIGN_OR_RETURN(
      const FusedProgram program,
      parse_fused_program(request.attributes().text("program"), request.graph.registry()));
  // Every result has the type of the first operand.
  const FusedOperand first = program.instructions.empty()
                                 ? FusedOperand{FusedOperand::Kind::kInput, 0}
                                 : program.instructions[0].operands[0];
  const DType dtype = request.input_type(static_cast<size_t>(first.index)).dtype;
  return with_row_type(dtype, [&]<class T>(T) -> MadeStep {
    auto made = RowProgram<T>::make(program, dtype, request.machine);
    if (!made) return fail::internal("A fused quantisation has a program without kernels.");
    return std::make_unique<FusedQuantizeStep<T>>(request.machine, request.attributes(),
                                                  std::move(*made));
  });
}

int64_t packed_quantized_bytes(const Node& node, std::span<const Shape> outputs) {
  // The integers have the shape of what is quantised.
  const Shape& q = outputs[0];
  const auto block = static_cast<int>(node.attributes.integer("block"));
  const auto bits = static_cast<int>(node.attributes.integer("bits"));
  return make_activation_layout(q.num_rows(), q.last(), block, bits).size_bytes;
}

bool can_pack_quantized(const Graph& graph, const Node& node) {
  const Dim& columns = graph.value(node.outputs[0]).type.dims.back();
  return columns.is_constant() &&
         can_pack_activations(columns.factor, node.attributes.integer("block"),
                              node.attributes.integer("bits"));
}

}  // namespace quern::cpu
