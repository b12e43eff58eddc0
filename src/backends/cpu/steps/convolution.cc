// convolution.conv1d, conv2d, conv3d: products of the filters with panels of input positions, made
// block by block where they are used. k runs over (channel, taps), so the folds are those of the
// definition; a tap in the padding meets a zero of the padded image, which changes no sum as long
// as the weight is finite. With weights that are not, the reference kernel runs.
#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/gemm_split.h"
#include "backends/cpu/steps/element_functions.h"
#include "backends/cpu/steps/float_rows.h"
#include "backends/cpu/steps/padded_image.h"
#include "backends/cpu/steps/steps.h"

namespace quern::cpu {
namespace {

// Bytes of the panels of one block of positions: a part of a second-level cache.
constexpr int64_t kPanelBytes = int64_t{320} << 10;
// Work of a padded element in units of for_ranges.
constexpr int64_t kCostOfPadding = 1;

// Sizes of one convolution; conv1d and conv2d have missing axes of extent 1.
struct ConvSizes {
  int64_t batch, groups;
  int64_t group_in, group_out;  // channels of a group
  Extent3 in, out;
  int64_t num_taps;

  ConvSizes(const Shape& x, const Shape& weight, const Shape& y, int64_t num_groups)
      : batch(x[0]),
        groups(num_groups),
        group_in(x[1] / num_groups),
        group_out(y[1] / num_groups),
        in(spatial_extents(x)),
        out(spatial_extents(y)),
        num_taps(1) {
    for (int axis = 2; axis < weight.rank(); ++axis) num_taps *= weight[axis];
  }
  // Elements of one filter: the length of every sum.
  int64_t filter() const { return group_in * num_taps; }
  int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  int64_t out_plane() const { return out[0] * out[1] * out[2]; }
};

// Filters [groups][group_out, filter] as tiles for the product.
template <class T>
class PackedFilters {
 public:
  void pack(const TensorView& weight, const ConvSizes& sizes, const GemmFunctions<T, T>& f) {
    const std::vector<T> values = load_all<T>(weight);
    is_finite_ = std::ranges::all_of(values, [](T v) { return std::isfinite(v); });
    const int64_t k = sizes.filter();
    group_size_ = gemm_padded_rows(sizes.group_out, f.height) * k;
    tiles_.resize(static_cast<size_t>(group_size_ * sizes.groups));
    for (int64_t group = 0; group < sizes.groups; ++group) {
      for (int64_t row = 0; row < sizes.group_out; row += f.height) {
        const int64_t rest = sizes.group_out - row;
        f.pack_tile(values.data() + (group * sizes.group_out + row) * k, k,
                    std::min<int64_t>(rest, f.height), gemm_tile_height(rest, f.height), k,
                    tiles_.data() + group * group_size_ + row * k);
      }
    }
  }
  bool is_finite() const { return is_finite_; }
  bool is_empty() const { return tiles_.empty(); }
  const T* group(int64_t index) const { return tiles_.data() + index * group_size_; }

 private:
  std::vector<T> tiles_;
  int64_t group_size_ = 0;
  bool is_finite_ = true;
};

template <class T>
class ConvolutionStep final : public Step {
 public:
  ConvolutionStep(Machine& machine, const Window3& windows, int64_t groups, bool fuses,
                  bool is_loaded, VectorOperand<T> bias, std::unique_ptr<Step> reference)
      : machine_(machine),
        windows_(windows),
        groups_(groups),
        fuses_(fuses),
        is_loaded_(is_loaded),
        bias_(std::move(bias)),
        reference_(std::move(reference)) {}

  Result<void> run(const StepContext& context) override {
    const TensorView& x = context.inputs[0];
    const TensorView& y = context.outputs[0];
    const ConvSizes sizes(x.shape, context.inputs[1].shape, y.shape, groups_);
    if (y.shape.num_elements() == 0 || sizes.filter() == 0) return reference_->run(context);
    // A weight of the graph is packed once.
    if (!is_loaded_ || filters_.is_empty()) {
      filters_.pack(context.inputs[1], sizes, functions_of<T>(machine_.kernels.gemm));
    }
    if (!filters_.is_finite()) return reference_->run(context);
    const PaddedImage image(windows_, sizes.in, sizes.out);
    const T* bias = bias_.get(context.inputs[2]);
    return run_blocks(x, y, sizes, image, bias);
  }

 private:
  struct Room {
    T* images;  // of all channels of all samples
    T* panels;  // by thread
    T* folds;
    T* result;  // for other dtypes
  };

  // Chunks of (sample, group, block of positions): each packs its panels and multiplies the group's
  // filters with them, so that panels never leave the second-level cache.
  Result<void> run_blocks(const TensorView& x, const TensorView& y, const ConvSizes& sizes,
                          const PaddedImage& image, const T* bias) {
    const GemmFunctions<T, T>& gemm = functions_of<T>(machine_.kernels.gemm);
    const int64_t k = sizes.filter(), threads = machine_.pool.num_threads();
    const int64_t fitting = kPanelBytes / (k * gemm.width * int64_t{sizeof(T)});
    const int64_t all_panels = ceil_divide(sizes.out_plane(), int64_t{gemm.width});
    const int64_t panels = std::min(all_panels, std::clamp<int64_t>(fitting, 4, 16));
    const int64_t blocks = ceil_divide(all_panels, panels);
    const bool is_direct = y.dtype == kDTypeOf<T>;

    // Loads of whole vectors reach past the last position.
    const int64_t image_elements =
        sizes.batch * sizes.groups * sizes.group_in * image.channel_size() + 2 * gemm.width;
    const int64_t panel_elements = (panels * k + 1) * gemm.width;
    const int64_t fold_elements =
        gemm_padded_rows(sizes.group_out, gemm.height) * panels * gemm.width;
    const int64_t result_elements = is_direct ? 0 : y.shape.num_elements();
    QUERN_ASSIGN_OR_RETURN(
        std::byte * scratch,
        machine_.scratch((round_up(image_elements, 16) +
                          threads * (round_up(panel_elements, 16) + round_up(fold_elements, 16)) +
                          result_elements) *
                         int64_t{sizeof(T)}));
    Room room{.images = reinterpret_cast<T*>(scratch),
              .panels = nullptr,
              .folds = nullptr,
              .result = nullptr};
    room.panels = room.images + round_up(image_elements, 16);
    room.folds = room.panels + threads * round_up(panel_elements, 16);
    room.result = is_direct ? y.as<T>() : room.folds + threads * round_up(fold_elements, 16);
    fill_images(x, sizes, image, room.images);
    std::fill_n(room.images + image_elements - 2 * gemm.width, 2 * gemm.width, T(0));

    const std::vector<int64_t> tap_offsets = image.tap_offsets();
    const auto kernel = fuses_ ? gemm.fused : gemm.separate;
    machine_.pool.run(sizes.batch * sizes.groups * blocks, [&](int64_t chunk, int thread) {
      const int64_t which = chunk / blocks, group = which % sizes.groups;
      const int64_t first = all_panels * (chunk % blocks) / blocks * gemm.width;
      const int64_t end =
          std::min(sizes.out_plane(), all_panels * (chunk % blocks + 1) / blocks * gemm.width);
      const TapImage<T> taps{room.images + which * sizes.group_in * image.channel_size(),
                             sizes.group_in, image.channel_size(), tap_offsets.data(),
                             sizes.num_taps};
      T* own = room.panels + thread * round_up(panel_elements, 16);
      pack_positions(taps, image, first, end, k, own);
      kernel({.a = filters_.group(group),
              .b = own,
              .b_k_stride = gemm.width,
              .b_panel_stride = gemm.width * k,
              .m = sizes.group_out,
              .n = end - first,
              .k = k,
              .c = room.result + which * sizes.group_out * sizes.out_plane() + first,
              .c_stride = sizes.out_plane(),
              .row_bias = bias == nullptr ? nullptr : bias + group * sizes.group_out,
              .folds = room.folds + thread * round_up(fold_elements, 16)});
    });
    if (!is_direct) store_row(y, 0, y.shape.num_elements(), room.result);
    return {};
  }

  // Writes the padded image of every channel of every sample.
  void fill_images(const TensorView& x, const ConvSizes& sizes, const PaddedImage& image,
                   T* images) {
    const auto pick = functions_of<T>(machine_.kernels.convolution).pick;
    const int64_t channels = sizes.batch * sizes.groups * sizes.group_in;
    for_ranges(machine_.pool, channels, image.channel_size() * kCostOfPadding,
               [&](int64_t begin, int64_t end, int) {
                 std::vector<T> converted;
                 for (int64_t c = begin; c < end; ++c) {
                   const T* plane = nullptr;
                   if (x.dtype == kDTypeOf<T>) {
                     plane = x.as<const T>() + c * sizes.in_plane();
                   } else {
                     converted.resize(static_cast<size_t>(sizes.in_plane()));
                     load_row(x, c * sizes.in_plane(), sizes.in_plane(), converted.data());
                     plane = converted.data();
                   }
                   image.fill(plane, pick, images + c * image.channel_size());
                 }
               });
  }

  // Panels of the positions [first, end).
  void pack_positions(const TapImage<T>& taps, const PaddedImage& image, int64_t first, int64_t end,
                      int64_t k, T* out) const {
    const int64_t width = functions_of<T>(machine_.kernels.gemm).width;
    const auto pack_panel = functions_of<T>(machine_.kernels.convolution).pack_panel;
    TapRun runs[64];
    for (int64_t position = first; position < end; position += width, out += width * k) {
      const int64_t count = image.find_runs(position, width, runs);
      pack_panel(taps, runs, count, out);
    }
  }

  Machine& machine_;
  Window3 windows_;
  int64_t groups_;
  bool fuses_;      // products and sums round once (deterministic, fast)
  bool is_loaded_;  // the weight is one of the graph, so its packed form is kept
  PackedFilters<T> filters_;
  VectorOperand<T> bias_;
  std::unique_ptr<Step> reference_;
};

}  // namespace

MadeStep make_convolution(const StepRequest& request) {
  QUERN_ASSIGN_OR_RETURN(
      const Window3 windows,
      read_convolution_windows(request.attributes(), request.input_type(0).rank()));
  QUERN_ASSIGN_OR_RETURN(auto reference, make_reference(request));
  return with_row_type(request.input_type(0).dtype, [&]<class T>(T) -> MadeStep {
    QUERN_ASSIGN_OR_RETURN(auto bias, VectorOperand<T>::make(request, 2));
    return std::make_unique<ConvolutionStep<T>>(
        request.machine, windows, request.attributes().integer("groups"), request.fuses_products(),
        request.is_loaded(1), std::move(bias), std::move(reference));
  });
}

}  // namespace quern::cpu
