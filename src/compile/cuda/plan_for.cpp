#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "compile/cuda/cuda.hpp"
#include "compile/cuda/evaluate.hpp"
#include "ouroboros/error.hpp"
#include "plan/launch_plan_structure.hpp"

namespace ouroboros::cuda {
namespace {

constexpr std::size_t most_launches = PlanRules{}.launches;
constexpr std::size_t most_steps = 1 << 16;  // Statements carried out, loops unrolled.
constexpr std::uint64_t most_state_bytes = 1 << 20;

// CUtensorMap.
constexpr std::uint32_t tensor_map_bytes = 128;

/// CUtensorMapDataType.
std::uint32_t tensor_map_type(ElementType type, Position at) {
  switch (type) {
    case ElementType::int8:  // Maps copy bytes, whatever these mean.
    case ElementType::uint8:
    case ElementType::boolean:
    case ElementType::float8_e4m3fn:
    case ElementType::float8_e5m2:
      return 0;
    case ElementType::uint32:
      return 2;
    case ElementType::int32:
      return 3;
    case ElementType::uint64:
      return 4;
    case ElementType::int64:
      return 5;
    case ElementType::float16:
      return 6;
    case ElementType::float32:
      return 7;
    case ElementType::float64:
      return 8;
    case ElementType::bfloat16:
      return 9;
    case ElementType::dtype:
      break;
  }
  throw SpecificationFault(at, fmt::format("a tensor map cannot hold {}", to_string(type)));
}

/// Carries out a specification on one signature.
class Planner {
 public:
  Planner(const CudaModule& module, const std::vector<PlanBuffer>& signature,
          const std::map<std::string, std::int64_t>& axes)
      : module_(module) {
    plan_.origin = PlanOrigin::specification;
    plan_.language = module.language;
    plan_.target = module.target;
    plan_.images.push_back({module.cubin.bytes, module.cubin.sha256});
    plan_.modules.push_back({ModuleOrigin::candidate, 0});
    scope_.dtype = module.dtype;
    scope_.numbers.insert(axes.begin(), axes.end());
    for (const auto& buffer : signature) {
      BufferView view{static_cast<std::uint32_t>(plan_.buffers.size()),
                      *parse_element_type(ouroboros::to_string(buffer.dtype)), buffer.bytes,
                      buffer.shape, buffer.strides};
      scope_.buffers.emplace(buffer.name, std::move(view));
      plan_.buffers.push_back(buffer);
    }
  }

  LaunchPlan run() {
    const auto& statements = module_.specification.statements;
    for (const auto& statement : statements) step(statement);
    try {
      launch_plan::require_structure(plan_);
    } catch (const Error& fault) {
      // Names, sizes and tensor maps that no plan may have: what holds these bounds is in one
      // place.
      throw SpecificationFault(statements.empty() ? Position{} : statements.front().at,
                               std::string("what is launched from here on: ") + fault.what());
    }
    return std::move(plan_);
  }

 private:
  void step(const Statement& statement) {
    if (++steps_ > most_steps) {
      throw SpecificationFault(statement.at, fmt::format("more than {} steps", most_steps));
    }
    std::visit([&](const auto& what) { carry_out(what, statement.at); }, statement.what);
  }

  void carry_out(const Dtypes& /*dtypes*/, Position /*at*/) {}

  void carry_out(const Let& let, Position at) {
    require_new(let.name, at);
    named_.push_back(let.name);
    if (let.value.real) {
      scope_.reals.emplace(let.name, evaluate_real(let.value, scope_));
    } else {
      scope_.numbers.emplace(let.name, evaluate(let.value, scope_));
    }
  }

  void carry_out(const Conditional& conditional, Position /*at*/) {
    const bool holds = evaluate(conditional.condition, scope_) != 0;
    for (const auto& statement : holds ? conditional.first : conditional.second) step(statement);
  }

  void carry_out(const Loop& loop, Position at) {
    const std::int64_t begin = evaluate(loop.begin, scope_);
    const std::int64_t end = evaluate(loop.end, scope_);
    const std::int64_t each = loop.step ? evaluate(*loop.step, scope_) : 1;
    if (each == 0) throw SpecificationFault(loop.step->at, "a range has no step of 0");
    require_new(loop.name, at);
    const auto known = named_.size();
    for (std::int64_t i = begin; each > 0 ? i < end : i > end;) {
      scope_.numbers[loop.name] = i;
      for (const auto& statement : loop.body) step(statement);
      forget_names_after(known);
      if (__builtin_add_overflow(i, each, &i)) break;
    }
    scope_.numbers.erase(loop.name);
  }

  /// What a round of a loop names, no other knows.
  void forget_names_after(std::size_t known) {
    for (; named_.size() > known; named_.pop_back()) {
      scope_.numbers.erase(named_.back());
      scope_.reals.erase(named_.back());
    }
  }

  void carry_out(const Declaration& declaration, Position at) {
    require_new(declaration.name, at);
    BufferView view;
    view.index = static_cast<std::uint32_t>(plan_.buffers.size());
    view.type = resolve(declaration.type, module_.dtype);
    for (const auto& extent : declaration.shape) {
      view.shape.push_back(evaluate(extent, scope_));
      if (view.shape.back() < 0) {
        throw SpecificationFault(extent.at, fmt::format("'{}' would have the negative extent {}",
                                                        declaration.name, view.shape.back()));
      }
    }
    view.strides.assign(view.shape.size(), 1);
    for (std::size_t i = view.shape.size(); i-- > 1;) {
      view.strides[i - 1] =
          elements({view.strides[i], std::max<std::int64_t>(view.shape[i], 1)}, at);
    }
    view.bytes =
        static_cast<std::uint64_t>(elements({elements(view.shape, at), size_of(view.type)}, at));

    PlanBuffer buffer;
    buffer.name = declaration.name;
    buffer.bytes = view.bytes;
    if (declaration.values) {
      buffer.role = PlanRole::state;
      buffer.image = state_image(declaration, view, at);
    }
    plan_.buffers.push_back(std::move(buffer));
    scope_.buffers.emplace(declaration.name, std::move(view));
  }

  std::uint32_t state_image(const Declaration& declaration, const BufferView& view, Position at) {
    const auto wanted = static_cast<std::uint64_t>(elements(view.shape, at));
    if (!declaration.fills && declaration.values->size() != wanted) {
      throw SpecificationFault(
          at, fmt::format("'{}' has {} elements and {} values: '= VALUE' without brackets sets all",
                          declaration.name, wanted, declaration.values->size()));
    }
    if (view.bytes > most_state_bytes - state_bytes_) {
      throw SpecificationFault(
          at, fmt::format("the state buffers have more than {} bytes together", most_state_bytes));
    }
    state_bytes_ += view.bytes;
    PlanImage image;
    const auto times = declaration.fills ? wanted : 1;
    for (const auto& value : *declaration.values) {
      const auto bytes = encode(value, view.type, scope_, at);
      for (std::uint64_t i = 0; i < times; ++i) {
        image.bytes.insert(image.bytes.end(), bytes.begin(), bytes.end());
      }
    }
    image.sha256 = sha256_hex(image.bytes.data(), image.bytes.size());
    plan_.images.push_back(std::move(image));
    return static_cast<std::uint32_t>(plan_.images.size() - 1);
  }

  void carry_out(const Memset& memset, Position at) {
    const auto& buffer = writable(memset.buffer, at);
    auto pattern = encode(memset.value, buffer.type, scope_, at);
    // A memset sets at most four bytes at a time: eight must be twice the same four.
    if (pattern.size() == 8) {
      if (!std::equal(pattern.begin(), pattern.begin() + 4, pattern.begin() + 4)) {
        throw SpecificationFault(
            at, fmt::format("a memset cannot set '{}', whose elements have 8 bytes, to this value: "
                            "the two halves differ; a 'state' may have it, and a kernel may "
                            "set it",
                            memset.buffer));
      }
      pattern.resize(4);
    }
    MemsetLaunch launch;
    launch.target.buffer = buffer.index;
    launch.width = static_cast<std::uint32_t>(pattern.size());
    launch.count = buffer.bytes / pattern.size();
    std::memcpy(&launch.value, pattern.data(), pattern.size());
    if (launch.count > 0) add(launch, at);
  }

  void carry_out(const Copy& copy, Position at) {
    const auto& target = writable(copy.target, at);
    const auto& source = scope_.buffer(copy.source, at);
    if (target.bytes != source.bytes || target.index == source.index) {
      throw SpecificationFault(
          at, target.index == source.index
                  ? fmt::format("'{}' is copied to itself", copy.target)
                  : fmt::format("'{}' has {} bytes and '{}' has {}: a copy takes whole buffers of "
                                "one size",
                                copy.target, target.bytes, copy.source, source.bytes));
    }
    if (source.bytes > 0) add(CopyLaunch{{target.index, 0}, {source.index, 0}, source.bytes}, at);
  }

  void carry_out(const KernelCall& call, Position at) {
    KernelLaunch launch;
    launch.function = call.kernel;
    constexpr std::string_view hole = "{dtype}";
    for (auto place = launch.function.find(hole); place != std::string::npos;
         place = launch.function.find(hole)) {
      launch.function.replace(place, hole.size(), ouroboros::to_string(module_.dtype));
    }
    const auto& kernel = find_kernel(launch.function, at);
    launch.grid = extents(call.grid, "grid", 0);
    launch.block = extents(call.block, "block", 1);
    launch.cluster = extents(call.cluster, "cluster", 1);
    launch.cooperative = call.cooperative;
    if (call.shared_bytes) {
      const std::int64_t bytes = evaluate(*call.shared_bytes, scope_);
      if (!std::in_range<std::uint32_t>(bytes)) {
        throw SpecificationFault(call.shared_bytes->at,
                                 fmt::format("{} bytes of shared memory are none", bytes));
      }
      launch.shared_bytes = static_cast<std::uint32_t>(bytes);
    }
    lay_out(call, kernel, launch, at);
    // CUDA refuses a grid of no blocks; on an empty tensor there is nothing to do.
    const bool empty = std::find(launch.grid.begin(), launch.grid.end(), 0U) != launch.grid.end();
    if (!empty) add(std::move(launch), at);
  }

  [[nodiscard]] const KernelResources& find_kernel(const std::string& name, Position at) const {
    std::string names;
    for (const auto& kernel : module_.kernels) {
      if (kernel.function == name) return kernel;
      names += (names.empty() ? "" : ", ") + kernel.function;
    }
    throw SpecificationFault(
        at, fmt::format("the module has no kernel '{}': it has {}; declare kernels {}", name,
                        names.empty() ? "none" : names,
                        module_.language == "ptx" ? "'.visible .entry'"
                                                  : "extern \"C\" __global__, so that they keep "
                                                    "their names"));
  }

  [[nodiscard]] Dim3 extents(const Extents& from, std::string_view what, std::int64_t least) const {
    Dim3 result{1, 1, 1};
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::int64_t extent = evaluate(from[i], scope_);
      if (extent < least || !std::in_range<std::uint32_t>(extent)) {
        throw SpecificationFault(from[i].at, fmt::format("the {}'s extent {} is {}, which no GPU "
                                                         "launches",
                                                         what, i, extent));
      }
      result[i] = static_cast<std::uint32_t>(extent);
    }
    return result;
  }

  /// The parameter block. Where parameters lie is for the cubin to say: what C aligns to 64 bytes,
  /// a TMA descriptor, is aligned in the GPU's constant bank, in which the block begins anywhere.
  void lay_out(const KernelCall& call, const KernelResources& kernel, KernelLaunch& launch,
               Position at) const {
    if (call.arguments.size() != kernel.parameters.size()) {
      throw SpecificationFault(at,
                               fmt::format("'{}' takes {} arguments and gets {}", launch.function,
                                           kernel.parameters.size(), call.arguments.size()));
    }
    launch.fields = kernel.parameters;
    launch.parameters.resize(kernel.parameter_bytes);
    const auto found = module_.parameter_kinds.find(launch.function);
    const auto kind_of = [&](std::size_t i) {
      return found != module_.parameter_kinds.end() && i < found->second.size()
                 ? found->second[i]
                 : ParameterKind::other;
    };
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      const auto& argument = call.arguments[i];
      const auto& field = kernel.parameters[i];
      auto encoded = encode_argument(argument, kind_of(i), field.size);
      if (field.size != encoded.bytes.size()) {
        const auto* hint =
            encoded.pointer      ? "a buffer is an address"
            : encoded.tensor_map ? "a tensor map is a 'const __grid_constant__ CUtensorMap'"
            : field.size == 8    ? "it is a buffer's address, or a number with its type, as "
                                   "'n: int64'"
                                 : "say its type, as 'n: int32'";
        throw SpecificationFault(
            argument.at,
            fmt::format("argument {} of '{}' has {} bytes and the kernel's parameter {}: {}", i + 1,
                        launch.function, encoded.bytes.size(), field.size, hint));
      }
      std::copy(encoded.bytes.begin(), encoded.bytes.end(),
                launch.parameters.begin() + field.offset);
      if (encoded.pointer) launch.pointers.push_back({field.offset, *encoded.pointer});
      if (encoded.tensor_map) {
        encoded.tensor_map->at = field.offset;
        launch.tensor_maps.push_back(std::move(*encoded.tensor_map));
      }
    }
  }

  struct EncodedArgument {
    std::vector<std::byte> bytes;
    std::optional<BufferOffset> pointer = {};
    std::optional<ParameterTensorMap> tensor_map = {};
  };

  /// For a parameter of `kind` and `size` bytes.
  [[nodiscard]] EncodedArgument encode_argument(const Argument& argument, ParameterKind kind,
                                                std::uint32_t size) const {
    constexpr std::size_t pointer_bytes = 8;
    const std::vector<std::byte> zeros(pointer_bytes);
    if (std::holds_alternative<NullArgument>(argument.what)) return {zeros};
    if (const auto* map = std::get_if<TensorMapArgument>(&argument.what)) {
      return {std::vector<std::byte>(tensor_map_bytes), {}, tensor_map(*map, argument.at)};
    }
    if (const auto* pointer = std::get_if<PointerArgument>(&argument.what)) {
      return {zeros, place(*pointer, argument.at)};
    }
    const auto& scalar = std::get<ScalarArgument>(argument.what);
    const auto& value = scalar.value;
    // A lone name is a buffer where there is one, whatever else has that name.
    if (value.kind == Expression::Kind::name && !scalar.type) {
      const auto found = scope_.buffers.find(value.text);
      if (found != scope_.buffers.end()) return {zeros, BufferOffset{found->second.index, 0}};
    }
    if (scalar.type) {
      return {encode(value, resolve(*scalar.type, module_.dtype), scope_, argument.at)};
    }
    if (value.real && kind == ParameterKind::integer) {
      throw SpecificationFault(argument.at,
                               "this is a real number, and the kernel's parameter an integer");
    }
    if (!value.real && kind == ParameterKind::integer && size < 4) return {narrow(value, size)};
    return {encode(value, type_for(value, kind, size), scope_, argument.at)};
  }

  /// A bool, a char or a short, of which PTX knows the size.
  [[nodiscard]] std::vector<std::byte> narrow(const Expression& value, std::uint32_t size) const {
    const std::int64_t number = evaluate(value, scope_);
    const std::int64_t end = std::int64_t{1} << (8 * size);
    if (number < -end / 2 || number >= end) {
      throw SpecificationFault(
          value.at, fmt::format("{} does not fit into a parameter of {} byte{}", number, size,
                                size == 1 ? "" : "s"));
    }
    std::vector<std::byte> bytes(size);
    std::memcpy(bytes.data(), &number, size);  // Little-endian, as evaluate.cpp asserts.
    return bytes;
  }

  /// What a number is passed as. An integer of 8 bytes has to be asked for: a pointer is declared
  /// as one, and arguments in the wrong order would go unnoticed.
  static ElementType type_for(const Expression& value, ParameterKind kind, std::uint32_t size) {
    if (!value.real && kind != ParameterKind::real) return ElementType::int32;
    return kind == ParameterKind::real && size == 8 ? ElementType::float64 : ElementType::float32;
  }

  [[nodiscard]] BufferOffset place(const PointerArgument& pointer, Position at) const {
    const auto& buffer = scope_.buffer(pointer.buffer, at);
    const std::int64_t element = evaluate(pointer.element, scope_);
    std::int64_t offset = 0;
    // One past the end is a pointer too.
    if (element < 0 ||
        __builtin_mul_overflow(element, std::int64_t{size_of(buffer.type)}, &offset) ||
        static_cast<std::uint64_t>(offset) > buffer.bytes) {
      throw SpecificationFault(at, fmt::format("element {} is outside of '{}', which has {} bytes",
                                               element, pointer.buffer, buffer.bytes));
    }
    return {buffer.index, static_cast<std::uint64_t>(offset)};
  }

  [[nodiscard]] ParameterTensorMap tensor_map(const TensorMapArgument& from, Position at) const {
    const auto& buffer = scope_.buffer(from.base.buffer, at);
    ParameterTensorMap map;
    map.target = place(from.base, at);
    map.data_type = tensor_map_type(buffer.type, at);
    // The buffer's own lists, innermost first.
    std::vector<std::int64_t> sizes(buffer.shape.rbegin(), buffer.shape.rend());
    std::vector<std::int64_t> strides(buffer.strides.rbegin(), buffer.strides.rend());
    if (!from.sizes.empty()) sizes = values(from.sizes);
    if (!from.strides.empty()) {
      strides = values(from.strides);
    } else if (!strides.empty()) {
      strides.erase(strides.begin());
    }
    const auto box = values(from.box);
    auto element_strides = values(from.element_strides);
    if (element_strides.empty()) element_strides.assign(sizes.size(), 1);
    if (sizes.empty() || strides.size() + 1 != sizes.size() || box.size() != sizes.size() ||
        element_strides.size() != sizes.size()) {
      throw SpecificationFault(
          at,
          fmt::format("a tensor map of '{}' has {} sizes, {} strides (one fewer), {} extents of "
                      "its box and {} element strides: their numbers disagree",
                      from.base.buffer, sizes.size(), strides.size(), box.size(),
                      element_strides.size()));
    }
    for (auto& stride : strides) stride = elements({stride, size_of(buffer.type)}, at);
    map.sizes = narrowed<std::uint64_t>(sizes, at);
    map.strides_bytes = narrowed<std::uint64_t>(strides, at);
    map.box = narrowed<std::uint32_t>(box, at);
    map.element_strides = narrowed<std::uint32_t>(element_strides, at);
    map.interleave = choice(from.interleave, {0, 16, 32});
    map.swizzle = choice(from.swizzle, {0, 32, 64, 128});
    map.l2_promotion = choice(from.l2_promotion, {0, 64, 128, 256});
    map.oob_fill = from.fill_nan ? 1 : 0;
    for (const auto bytes : strides) {
      constexpr std::int64_t unit_bytes = 16;
      if (bytes % unit_bytes == 0) continue;
      throw SpecificationFault(
          at, fmt::format("a tensor map of '{}' has a stride of {} bytes, and TMA takes multiples "
                          "of {}: launch another kernel there, with 'if'",
                          from.base.buffer, bytes, unit_bytes));
    }
    return map;
  }

  [[nodiscard]] std::vector<std::int64_t> values(const Extents& from) const {
    std::vector<std::int64_t> result;
    for (const auto& expression : from) result.push_back(evaluate(expression, scope_));
    return result;
  }

  template <typename T>
  static std::vector<T> narrowed(const std::vector<std::int64_t>& from, Position at) {
    std::vector<T> result;
    for (const auto value : from) {
      if (!std::in_range<T>(value)) {
        throw SpecificationFault(at, fmt::format("a tensor map cannot hold {}", value));
      }
      result.push_back(static_cast<T>(value));
    }
    return result;
  }

  // The driver numbers the sizes that it offers.
  [[nodiscard]] std::uint32_t choice(const std::optional<Expression>& from,
                                     std::initializer_list<std::int64_t> offered) const {
    if (!from) return 0;
    const auto value = evaluate(*from, scope_);
    const auto found = std::find(offered.begin(), offered.end(), value);
    if (found == offered.end()) {
      throw SpecificationFault(from->at,
                               fmt::format("{} bytes are not among those of a tensor map", value));
    }
    return static_cast<std::uint32_t>(found - offered.begin());
  }

  [[nodiscard]] const BufferView& writable(const std::string& name, Position at) const {
    const auto& buffer = scope_.buffer(name, at);
    if (plan_.buffers[buffer.index].role == PlanRole::input) {
      throw SpecificationFault(at, fmt::format("'{}' is an input and cannot be written", name));
    }
    return buffer;
  }

  void require_new(const std::string& name, Position at) const {
    if (scope_.numbers.contains(name) || scope_.reals.contains(name) ||
        scope_.buffers.contains(name)) {
      throw SpecificationFault(at, fmt::format("'{}' already names something", name));
    }
  }

  void add(Launch launch, Position at) {
    if (plan_.launches.size() >= most_launches) {
      throw SpecificationFault(at, fmt::format("more than {} launches", most_launches));
    }
    plan_.launches.push_back(std::move(launch));
  }

  const CudaModule& module_;
  Scope scope_;
  LaunchPlan plan_;
  std::vector<std::string> named_;  ///< By `let`, in this order.
  std::size_t steps_ = 0;
  std::uint64_t state_bytes_ = 0;
};

}  // namespace

LaunchPlan plan_for(const CudaModule& module, const std::vector<PlanBuffer>& signature,
                    const std::map<std::string, std::int64_t>& axes) {
  return Planner(module, signature, axes).run();
}

}  // namespace ouroboros::cuda
