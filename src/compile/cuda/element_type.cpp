#include <array>

#include "compile/cuda/specification.hpp"

namespace ouroboros::cuda {
namespace {

struct Entry {
  ElementType type;
  std::string_view name;
  std::uint32_t size;
  bool floating;
};

constexpr std::array<Entry, 14> table{{
    {ElementType::dtype, "dtype", 0, false},
    {ElementType::float16, "float16", 2, true},
    {ElementType::bfloat16, "bfloat16", 2, true},
    {ElementType::float32, "float32", 4, true},
    {ElementType::float64, "float64", 8, true},
    {ElementType::int8, "int8", 1, false},
    {ElementType::uint8, "uint8", 1, false},
    {ElementType::int32, "int32", 4, false},
    {ElementType::uint32, "uint32", 4, false},
    {ElementType::int64, "int64", 8, false},
    {ElementType::uint64, "uint64", 8, false},
    {ElementType::boolean, "bool", 1, false},
    {ElementType::float8_e4m3fn, "float8_e4m3fn", 1, true},
    {ElementType::float8_e5m2, "float8_e5m2", 1, true},
}};

const Entry& find(ElementType type) noexcept { return table[static_cast<std::size_t>(type)]; }

}  // namespace

std::string_view to_string(ElementType type) noexcept { return find(type).name; }
std::uint32_t size_of(ElementType type) noexcept { return find(type).size; }
bool is_floating(ElementType type) noexcept { return find(type).floating; }

std::optional<ElementType> parse_element_type(std::string_view name) noexcept {
  for (const Entry& entry : table) {
    if (entry.name == name) return entry.type;
  }
  return std::nullopt;
}

ElementType resolve(ElementType type, DType dtype) noexcept {
  // Every DType has an element type of the same name.
  return type == ElementType::dtype ? *parse_element_type(ouroboros::to_string(dtype)) : type;
}

}  // namespace ouroboros::cuda
