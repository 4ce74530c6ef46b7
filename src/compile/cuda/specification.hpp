#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ouroboros/api.hpp"
#include "ouroboros/dtype.hpp"

/// The launch specification of a CUDA C++ or PTX source, as docs/launch-specification.md describes
/// it: what its `//!` lines say, parsed and never executed.
namespace ouroboros::cuda {

/// A place in a source, both counted from 1; line 0 for the source as a whole.
struct Position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

/// What is wrong with a specification: always the candidate's fault. `what()` begins with the
/// place, e.g. "line 3, column 17: ", where there is one.
class OUROBOROS_API SpecificationFault : public std::runtime_error {
 public:
  SpecificationFault(Position at, const std::string& message);
  [[nodiscard]] Position at() const noexcept { return at_; }

 private:
  Position at_;
};

/// An element or argument type. `dtype` stands for the one that is being judged.
enum class ElementType : std::uint8_t {
  dtype,
  float16,
  bfloat16,
  float32,
  float64,
  int8,
  uint8,
  int32,
  uint32,
  int64,
  uint64,
  boolean,
  float8_e4m3fn,
  float8_e5m2,
};

/// Its value for the dtype being judged: never `ElementType::dtype`.
[[nodiscard]] ElementType resolve(ElementType type, DType dtype) noexcept;
[[nodiscard]] std::string_view to_string(ElementType type) noexcept;
[[nodiscard]] std::optional<ElementType> parse_element_type(std::string_view name) noexcept;
[[nodiscard]] std::uint32_t size_of(ElementType type) noexcept;  ///< In bytes; 0 for `dtype`.
[[nodiscard]] bool is_floating(ElementType type) noexcept;

/// An expression as a tree: of integers, or of real numbers where `real` says so.
struct Expression {
  enum class Kind : std::uint8_t {
    number,    ///< `number`.
    large,     ///< `number`, of which the bits are an uint64's: beyond what int64 holds.
    literal,   ///< `literal`, a real number.
    name,      ///< An axis or a `let`; as an argument, perhaps a buffer.
    property,  ///< `text`.`member`, with an index in `children` for shape and stride.
    size,      ///< sizeof(`type`).
    call,      ///< `text`(children...).
    negate,
    invert,  ///< not
    binary,  ///< `text` is the operator.
  };
  Kind kind = Kind::number;
  bool real = false;  ///< A real number is in it; integers beside it are taken as real ones.
  Position at;
  std::int64_t number = 0;
  double literal = 0;
  std::string text;
  std::string member;
  ElementType type = ElementType::dtype;
  std::vector<Expression> children;
};

struct NullArgument {};

/// `&buffer[element]`.
struct PointerArgument {
  std::string buffer;
  Expression element;
};

struct ScalarArgument {
  Expression value;
  std::optional<ElementType> type;  ///< Empty: what the kernel declares.
};

using Extents = std::vector<Expression>;  ///< Innermost first.

/// A TMA descriptor. Lists that are empty are those of the buffer.
struct TensorMapArgument {
  PointerArgument base;
  Extents box;
  Extents sizes;
  Extents strides;  ///< In elements, without the innermost, which is 1.
  Extents element_strides;
  std::optional<Expression> swizzle;       ///< In bytes: 0, 32, 64 or 128.
  std::optional<Expression> interleave;    ///< In bytes: 0, 16 or 32.
  std::optional<Expression> l2_promotion;  ///< In bytes: 0, 64, 128 or 256.
  bool fill_nan = false;                   ///< What is read outside; zeros otherwise.
};

struct Argument {
  Position at;
  std::variant<NullArgument, PointerArgument, ScalarArgument, TensorMapArgument> what;
};

struct Dtypes {
  std::vector<DType> dtypes;
};

struct Let {
  std::string name;
  Expression value;  ///< Integer or real.
};

/// A scratch buffer, or a state buffer when it has values.
struct Declaration {
  std::string name;
  ElementType type = ElementType::dtype;
  std::vector<Expression> shape;
  std::optional<std::vector<Expression>> values;
  bool fills = false;  ///< The one value is every element's.
};

struct Memset {
  std::string buffer;
  Expression value;
};

struct Copy {
  std::string target;
  std::string source;
};

struct KernelCall {
  std::string kernel;  ///< "{dtype}" in it stands for the name of the dtype being judged.
  Extents grid;
  Extents block;
  Extents cluster;
  std::optional<Expression> shared_bytes;
  bool cooperative = false;
  std::vector<Argument> arguments;
};

struct Statement;

/// `first` where the condition holds, `second` where it does not.
struct Conditional {
  Expression condition;
  std::vector<Statement> first;
  std::vector<Statement> second;
  bool ends = false;  ///< `second` is a block: an `else` after it is none of an `if` in there.
};

struct Loop {
  std::string name;
  Expression begin;
  Expression end;
  std::optional<Expression> step;
  std::vector<Statement> body;
};

struct Statement {
  Position at;
  std::variant<Dtypes, Let, Declaration, Memset, Copy, KernelCall, Conditional, Loop> what;
};

struct LaunchSpecification {
  std::vector<DType> dtypes;  ///< That the source is written for; empty: any.
  Position dtypes_at;
  std::vector<Statement> statements;
};

/// Reads the `//!` lines of a source. Throws `SpecificationFault`.
[[nodiscard]] OUROBOROS_API LaunchSpecification parse_specification(std::string_view source);

}  // namespace ouroboros::cuda
