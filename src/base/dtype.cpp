#include "ouroboros/dtype.hpp"

#include <array>

namespace ouroboros {
namespace {

struct Entry {
  DType dtype;
  std::string_view name;
  std::size_t size;
  bool floating;
};

constexpr std::array<Entry, 11> table{{
    {DType::float16, "float16", 2, true},
    {DType::bfloat16, "bfloat16", 2, true},
    {DType::float32, "float32", 4, true},
    {DType::float64, "float64", 8, true},
    {DType::int32, "int32", 4, false},
    {DType::int64, "int64", 8, false},
    {DType::int8, "int8", 1, false},
    {DType::uint8, "uint8", 1, false},
    {DType::boolean, "bool", 1, false},
    {DType::float8_e4m3fn, "float8_e4m3fn", 1, true},
    {DType::float8_e5m2, "float8_e5m2", 1, true},
}};

// Null for a value that is no enumerator: it may have come from bytes that nobody checked yet.
constexpr const Entry* find(DType dtype) noexcept {
  for (const Entry& entry : table) {
    if (entry.dtype == dtype) return &entry;
  }
  return nullptr;
}

constexpr auto every_dtype = [] {
  std::array<DType, table.size()> dtypes{};
  for (std::size_t i = 0; i < table.size(); ++i) dtypes[i] = table[i].dtype;
  return dtypes;
}();

}  // namespace

std::span<const DType> all_dtypes() noexcept { return every_dtype; }

std::string_view to_string(DType dtype) noexcept {
  const Entry* entry = find(dtype);
  return entry != nullptr ? entry->name : "unknown";
}

std::optional<DType> parse_dtype(std::string_view name) noexcept {
  for (const Entry& entry : table) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

std::size_t size_of(DType dtype) noexcept {
  const Entry* entry = find(dtype);
  return entry != nullptr ? entry->size : 0;
}

bool is_floating(DType dtype) noexcept {
  const Entry* entry = find(dtype);
  return entry != nullptr && entry->floating;
}

}  // namespace ouroboros
