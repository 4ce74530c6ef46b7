#include "plan/launch_plan_structure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "ouroboros/error.hpp"
#include "plan/launch_plan_place.hpp"

namespace ouroboros::launch_plan {
namespace {

// Far above any device's memory, and far below 2^63: an executor may round sizes up and add guards
// without a check of its own.
constexpr std::uint64_t most_total_bytes = std::uint64_t{1} << 56;
constexpr std::size_t most_buffers = 4096;
constexpr std::size_t most_modules = 4096;
constexpr std::size_t most_rank = 64;

constexpr std::size_t most_name = 128;
constexpr std::size_t most_words = 1024;
// Mangled names of templates are long.
constexpr std::size_t most_function_name = 4096;

// The most that a kernel can be given: CUDA 12.1, compute capability 7.0 and later.
constexpr std::size_t most_parameter_bytes = 32764;

constexpr std::uint32_t pointer_bytes = 8;
constexpr std::uint32_t tensor_map_bytes = 128;
// The compiler aligns a map to 64 bytes in the constant bank. The parameter block begins there at
// 0x160, 0x210 or 0x380, by architecture, so that inside the block multiples of 16 are all there
// is.
constexpr std::uint32_t tensor_map_alignment = 16;

// cuda.h: the limits that cuTensorMapEncodeTiled documents, and the last of each enumeration.
constexpr std::size_t most_map_rank = 5;
constexpr std::uint64_t most_map_size = std::uint64_t{1} << 32;
constexpr std::uint64_t most_map_stride = std::uint64_t{1} << 40;
constexpr std::uint64_t map_stride_multiple = 16;
constexpr std::uint32_t most_map_box = 256;
constexpr std::uint32_t most_map_element_stride = 8;
constexpr std::uint32_t last_data_type = 15;
constexpr std::uint32_t last_interleave = 2;
constexpr std::uint32_t last_swizzle = 6;
constexpr std::uint32_t last_l2_promotion = 3;
constexpr std::uint32_t last_oob_fill = 1;

template <class Value>
void require_range(const Place& place, Value value, Value least, Value most) {
  if (value < least || value > most) {
    place.refuse(fmt::format("must be {} to {}, but is {}", least, most, value));
  }
}

// Names end up in messages, on terminals and in the driver: visible ASCII, and spaces in words.
void require_text(const Place& place, std::string_view text, std::size_t most, bool words = false) {
  if (text.size() > most) {
    place.refuse(fmt::format("must have at most {} characters, but has {}", most, text.size()));
  }
  for (const char c : text) {
    if ((c < '!' || c > '~') && !(words && c == ' ')) {
      place.refuse(words ? "must be printable ASCII" : "must be printable ASCII without spaces");
    }
  }
}

void require_name(const Place& place, std::string_view text, std::size_t most) {
  if (text.empty()) place.refuse("must not be empty");
  require_text(place, text, most);
}

// "sm_90", "sm_100a".
bool is_target(std::string_view text) {
  if (!text.starts_with("sm_")) return false;
  text.remove_prefix(3);
  if (text.ends_with('a') || text.ends_with('f')) text.remove_suffix(1);
  return (text.size() == 2 || text.size() == 3) && text.front() != '0' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

class Checker {
 public:
  explicit Checker(const LaunchPlan& plan) : plan_(plan) {}

  void check() {
    check_heading();
    image_used_.resize(plan_.images.size());
    const auto each = [&](const char* key, const auto& values, auto&& check_one) {
      const Place list = root_.key(key);
      for (std::size_t i = 0; i < values.size(); ++i) check_one(list.index(i), values[i]);
    };
    each("images", plan_.images, [&](const Place& place, const PlanImage& image) {
      if (!is_sha256(image.sha256)) {
        place.key("sha256").refuse("must be 64 lower-case hexadecimal digits");
      }
    });
    each("buffers", plan_.buffers,
         [&](const Place& place, const PlanBuffer& buffer) { check_buffer(place, buffer); });
    each("modules", plan_.modules, [&](const Place& place, const PlanModule& module) {
      use_image(place.key("image"), module.image);
    });
    each("launches", plan_.launches, [&](const Place& place, const Launch& launch) {
      std::visit([&](const auto& one) { check_launch(place, one); }, launch);
    });
    each("images", plan_.images, [&](const Place& place, const PlanImage& image) {
      const std::size_t index = static_cast<std::size_t>(&image - plan_.images.data());
      if (!image_used_[index]) place.refuse("is the image of no module and no state buffer");
    });
  }

 private:
  void check_heading() {
    static constexpr std::array<std::string_view, 4> languages{"triton", "python", "cuda", "ptx"};
    if (std::find(languages.begin(), languages.end(), plan_.language) == languages.end()) {
      root_.key("language").refuse(R"(must be one of "triton", "python", "cuda", "ptx")");
    }
    if (!is_target(plan_.target)) {
      root_.key("target").refuse(R"(must be an architecture, e.g. "sm_90")");
    }
    require_text(root_.key("variant"), plan_.variant, most_words, true);
    require_range<std::size_t>(root_.key("number of buffers"), plan_.buffers.size(), 0,
                               most_buffers);
    require_range<std::size_t>(root_.key("number of modules"), plan_.modules.size(), 0,
                               most_modules);
  }

  const PlanImage& use_image(const Place& place, std::uint32_t image) {
    if (image >= plan_.images.size()) {
      place.refuse(fmt::format("is {}, but there are {} images", image, plan_.images.size()));
    }
    image_used_[image] = true;
    return plan_.images[image];
  }

  void check_buffer(const Place& place, const PlanBuffer& buffer) {
    require_name(place.key("name"), buffer.name, most_name);
    const int rank = buffer.role == PlanRole::input ? 0 : buffer.role == PlanRole::output ? 1 : 2;
    if (rank < last_role_rank_) {
      place.key("role").refuse("comes too late: inputs, then outputs, then scratch and state");
    }
    last_role_rank_ = rank;
    require_range<std::uint64_t>(place.key("bytes"), buffer.bytes, 0, most_total_bytes);
    total_bytes_ += buffer.bytes;
    if (total_bytes_ > most_total_bytes) place.key("bytes").refuse("brings the sum to an overflow");
    if (rank < 2) check_tensor(place, buffer);
    if ((buffer.role == PlanRole::state) != buffer.image.has_value()) {
      place.key("image").refuse("must be there for a state buffer, and for no other");
    }
    if (buffer.image) {
      const PlanImage& image = use_image(place.key("image"), *buffer.image);
      if (image.bytes.size() != buffer.bytes) {
        place.key("image").refuse(
            fmt::format("has {} bytes, but the buffer has {}", image.bytes.size(), buffer.bytes));
      }
    }
  }

  void check_tensor(const Place& place, const PlanBuffer& buffer) {
    require_range<std::size_t>(place.key("number of dimensions"), buffer.shape.size(), 0,
                               most_rank);
    if (buffer.strides.size() != buffer.shape.size()) {
      place.key("strides").refuse(
          fmt::format("must be as many as the {} sizes of the shape, not {}", buffer.shape.size(),
                      buffer.strides.size()));
    }
    for (std::size_t i = 0; i < buffer.shape.size(); ++i) {
      if (buffer.shape[i] < 0) place.key("shape").index(i).refuse("must not be negative");
      if (buffer.strides[i] < 0) place.key("strides").index(i).refuse("must not be negative");
    }
    const std::optional<std::uint64_t> extent = tensor_extent(buffer);
    if (!extent || *extent > buffer.bytes) {
      place.key("bytes").refuse(
          fmt::format("is {}, which is too small for the shape and strides", buffer.bytes));
    }
    if (buffer.role == PlanRole::output && *extent != buffer.bytes) {
      place.key("bytes").refuse(
          fmt::format("is {}, but an output ends where its last element does, after {} bytes",
                      buffer.bytes, *extent));
    }
  }

  // `size` bytes at `target` are inside their buffer.
  void check_range(const Place& buffer_place, const Place& offset_place, const BufferOffset& target,
                   std::uint64_t size) {
    if (target.buffer >= plan_.buffers.size()) {
      buffer_place.refuse(
          fmt::format("is {}, but there are {} buffers", target.buffer, plan_.buffers.size()));
    }
    const std::uint64_t bytes = plan_.buffers[target.buffer].bytes;
    if (target.offset > bytes || size > bytes - target.offset) {
      offset_place.refuse(fmt::format("is {}: {} bytes from there do not fit a buffer of {} bytes",
                                      target.offset, size, bytes));
    }
  }

  // A pointer may point one past the end, as in C.
  void check_target(const Place& place, const BufferOffset& target) {
    check_range(place.key("buffer"), place.key("offset"), target, 0);
  }

  void check_launch(const Place& place, const KernelLaunch& kernel) {
    if (kernel.module >= plan_.modules.size()) {
      place.key("module").refuse(
          fmt::format("is {}, but there are {} modules", kernel.module, plan_.modules.size()));
    }
    require_name(place.key("function"), kernel.function, most_function_name);
    const auto require_positive = [&](const char* key, const Dim3& dim) {
      for (std::size_t i = 0; i < dim.size(); ++i) {
        if (dim[i] == 0) place.key(key).index(i).refuse("must not be zero");
      }
    };
    require_positive("grid", kernel.grid);
    require_positive("block", kernel.block);
    require_positive("cluster", kernel.cluster);
    require_range<std::size_t>(place.key("number of parameter bytes"), kernel.parameters.size(), 0,
                               most_parameter_bytes);
    check_fields(place.key("fields"), kernel);
    holes_.clear();
    const Place pointers = place.key("pointers");
    for (std::size_t i = 0; i < kernel.pointers.size(); ++i) {
      const ParameterPointer& pointer = kernel.pointers[i];
      const Place one = pointers.index(i);
      check_hole(one.key("at"), kernel, pointer.at, pointer_bytes, pointer_bytes);
      check_target(one, pointer.target);
    }
    const Place maps = place.key("tensor_maps");
    for (std::size_t i = 0; i < kernel.tensor_maps.size(); ++i) {
      const ParameterTensorMap& map = kernel.tensor_maps[i];
      const Place one = maps.index(i);
      check_hole(one.key("at"), kernel, map.at, tensor_map_bytes, tensor_map_alignment);
      check_target(one, map.target);
      check_tensor_map(one, map);
    }
    std::sort(holes_.begin(), holes_.end());
    for (std::size_t i = 1; i < holes_.size(); ++i) {
      if (holes_[i].first < holes_[i - 1].second) {
        place.key("pointers and tensor_maps")
            .refuse(fmt::format("overlap at byte {} of the parameters", holes_[i].first));
      }
    }
  }

  static void check_fields(const Place& place, const KernelLaunch& kernel) {
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < kernel.fields.size(); ++i) {
      const ParameterField& field = kernel.fields[i];
      if (field.size == 0) place.index(i).refuse("must have at least one byte");
      if (field.offset < end) place.index(i).refuse("begins before the field before it ends");
      end = std::uint64_t{field.offset} + field.size;
      if (end > kernel.parameters.size()) {
        place.index(i).refuse(fmt::format("ends at byte {} of {} bytes of parameters", end,
                                          kernel.parameters.size()));
      }
    }
  }

  // Bytes that the executor writes: aligned, inside one field, zero so far.
  void check_hole(const Place& place, const KernelLaunch& kernel, std::uint32_t at,
                  std::uint32_t size, std::uint32_t alignment) {
    if (at % alignment != 0) {
      place.refuse(fmt::format("is {}, which is no multiple of {}", at, alignment));
    }
    const std::uint64_t end = std::uint64_t{at} + size;
    // The last field that begins at `at` or before.
    const auto after = std::upper_bound(
        kernel.fields.begin(), kernel.fields.end(), at,
        [](std::uint32_t offset, const ParameterField& field) { return offset < field.offset; });
    if (after == kernel.fields.begin() ||
        end > std::uint64_t{std::prev(after)->offset} + std::prev(after)->size) {
      place.refuse(fmt::format("is {}: the {} bytes from there lie in no field", at, size));
    }
    const auto begin = kernel.parameters.begin() + at;
    if (std::any_of(begin, begin + size, [](std::byte byte) { return byte != std::byte{0}; })) {
      place.refuse(fmt::format("is {}: the parameters must hold {} zeros from there", at, size));
    }
    holes_.emplace_back(at, end);
  }

  static void check_tensor_map(const Place& place, const ParameterTensorMap& map) {
    const std::size_t rank = map.sizes.size();
    require_range<std::size_t>(place.key("number of sizes"), rank, 1, most_map_rank);
    const auto require_count = [&](const char* key, std::size_t count, std::size_t wanted) {
      if (count != wanted) {
        place.key(key).refuse(
            fmt::format("must be {} numbers for {} sizes, but are {}", wanted, rank, count));
      }
    };
    require_count("strides_bytes", map.strides_bytes.size(), rank - 1);
    require_count("box", map.box.size(), rank);
    require_count("element_strides", map.element_strides.size(), rank);
    for (std::size_t i = 0; i < rank; ++i) {
      require_range<std::uint64_t>(place.key("sizes").index(i), map.sizes[i], 1, most_map_size);
      require_range<std::uint32_t>(place.key("box").index(i), map.box[i], 1, most_map_box);
      require_range<std::uint32_t>(place.key("element_strides").index(i), map.element_strides[i], 1,
                                   most_map_element_stride);
    }
    const Place strides = place.key("strides_bytes");
    for (std::size_t i = 0; i + 1 < rank; ++i) {
      const Place stride = strides.index(i);
      require_range<std::uint64_t>(stride, map.strides_bytes[i], 0, most_map_stride - 1);
      if (map.strides_bytes[i] % map_stride_multiple != 0) {
        stride.refuse(fmt::format("is {}, which is no multiple of {}", map.strides_bytes[i],
                                  map_stride_multiple));
      }
    }
    if (map.target.offset % map_stride_multiple != 0) {
      place.key("offset").refuse(
          fmt::format("is {}, which is no multiple of {}", map.target.offset, map_stride_multiple));
    }
    require_range<std::uint32_t>(place.key("data_type"), map.data_type, 0, last_data_type);
    require_range<std::uint32_t>(place.key("interleave"), map.interleave, 0, last_interleave);
    require_range<std::uint32_t>(place.key("swizzle"), map.swizzle, 0, last_swizzle);
    require_range<std::uint32_t>(place.key("l2_promotion"), map.l2_promotion, 0, last_l2_promotion);
    require_range<std::uint32_t>(place.key("oob_fill"), map.oob_fill, 0, last_oob_fill);
  }

  void check_launch(const Place& place, const MemsetLaunch& memset) {
    if (memset.width != 1 && memset.width != 2 && memset.width != 4) {
      place.key("width").refuse(fmt::format("must be 1, 2 or 4, but is {}", memset.width));
    }
    if (memset.width < 4 && memset.value >> (8 * memset.width) != 0) {
      place.key("value").refuse(
          fmt::format("is {}, which does not fit {} bytes", memset.value, memset.width));
    }
    if (memset.target.offset % memset.width != 0) {
      place.key("offset").refuse(
          fmt::format("is {}, which is no multiple of the width", memset.target.offset));
    }
    require_range<std::uint64_t>(place.key("count"), memset.count, 1, most_total_bytes);
    check_range(place.key("buffer"), place.key("offset"), memset.target,
                memset.count * memset.width);
  }

  void check_launch(const Place& place, const CopyLaunch& copy) {
    require_range<std::uint64_t>(place.key("bytes"), copy.bytes, 1, most_total_bytes);
    check_range(place.key("buffer"), place.key("offset"), copy.target, copy.bytes);
    check_range(place.key("from_buffer"), place.key("from_offset"), copy.source, copy.bytes);
    if (copy.target.buffer == copy.source.buffer &&
        std::max(copy.target.offset, copy.source.offset) -
                std::min(copy.target.offset, copy.source.offset) <
            copy.bytes) {
      place.key("from_offset").refuse("makes the two places of the copy overlap");
    }
  }

  const LaunchPlan& plan_;
  Place root_;
  std::vector<bool> image_used_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> holes_;  // Of the kernel at hand.
  std::uint64_t total_bytes_ = 0;
  int last_role_rank_ = 0;
};

}  // namespace

std::optional<std::uint64_t> tensor_extent(const PlanBuffer& buffer) {
  if (std::find(buffer.shape.begin(), buffer.shape.end(), 0) != buffer.shape.end()) return 0;
  std::uint64_t elements = 1;
  for (std::size_t i = 0; i < buffer.shape.size(); ++i) {
    std::uint64_t step = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(buffer.shape[i] - 1),
                               static_cast<std::uint64_t>(buffer.strides[i]), &step) ||
        __builtin_add_overflow(elements, step, &elements)) {
      return std::nullopt;
    }
  }
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(elements, std::uint64_t{size_of(buffer.dtype)}, &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

void require_structure(const LaunchPlan& plan) { Checker(plan).check(); }

}  // namespace ouroboros::launch_plan
