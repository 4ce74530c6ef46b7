#include "trace/live/cubin_names.hpp"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <optional>

namespace ouroboros::live {
namespace {

template <class Record>
std::optional<Record> read(std::string_view bytes, std::uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(Record)) return std::nullopt;
  Record record;
  std::memcpy(&record, bytes.data() + at, sizeof record);
  return record;
}

}  // namespace

std::vector<std::string> kernel_names(std::string_view cubin) {
  constexpr std::string_view prefix = ".text.";
  std::vector<std::string> names;
  const auto header = read<Elf64_Ehdr>(cubin, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64) {
    return names;
  }
  // Where a count does not fit the header, the first section has it.
  const auto first = read<Elf64_Shdr>(cubin, header->e_shoff);
  if (!first) return names;
  const std::uint64_t count = header->e_shnum != 0 ? header->e_shnum : first->sh_size;
  const std::uint64_t strings =
      header->e_shstrndx != SHN_XINDEX ? header->e_shstrndx : first->sh_link;
  const auto section = [&](std::uint64_t index) {
    return index < cubin.size()
               ? read<Elf64_Shdr>(cubin, header->e_shoff + index * sizeof(Elf64_Shdr))
               : std::nullopt;
  };
  const auto table = section(strings);
  if (!table || table->sh_offset > cubin.size() ||
      table->sh_size > cubin.size() - table->sh_offset) {
    return names;
  }
  const std::string_view text = cubin.substr(table->sh_offset, table->sh_size);
  for (std::uint64_t index = 0; index < count; ++index) {
    const auto one = section(index);
    if (!one) break;
    if (one->sh_name >= text.size()) continue;
    const std::string_view rest = text.substr(one->sh_name);
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos || !rest.starts_with(prefix)) continue;
    names.emplace_back(rest.substr(prefix.size(), end - prefix.size()));
  }
  return names;
}

}  // namespace ouroboros::live
