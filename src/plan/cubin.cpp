#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ouroboros/error.hpp"
#include "ouroboros/launch_plan.hpp"

// NVIDIA documents cubins by its tools alone: what stands here was read off the cubins of ptxas
// 12.9 to 13.4 and agrees with `ptxas -v` and `cuobjdump -elf`. tests/cpp/test_cubin.cpp compares.

namespace ouroboros {
namespace {

static_assert(std::endian::native == std::endian::little, "cubins are little-endian");

// The two layouts in use, by e_ident. The first one packs the architecture into e_flags with the
// mark of an 'a' architecture; the second one keeps that mark in .nv.compat.
constexpr unsigned char os_abi_old = 0x33;
constexpr unsigned char os_abi_new = 0x41;
constexpr std::uint32_t flag_accelerated_old = 0x800;
constexpr std::uint32_t flag_accelerated_new = 0x8;

// In st_other.
constexpr unsigned char symbol_is_managed = 0x04;
constexpr unsigned char symbol_is_kernel = 0x10;

// Records of .nv.info and .nv.compat: a format, an attribute and 16 bits, which are the value, or
// the number of bytes that follow.
constexpr unsigned char format_none = 1;
constexpr unsigned char format_byte = 2;
constexpr unsigned char format_half = 3;
constexpr unsigned char format_sized = 4;

constexpr unsigned char attribute_frame_size = 0x11;
constexpr unsigned char attribute_min_stack_size = 0x12;
constexpr unsigned char attribute_parameter = 0x17;
constexpr unsigned char attribute_parameter_bytes = 0x19;
constexpr unsigned char attribute_registers = 0x2f;
constexpr unsigned char attribute_parameter_v2 = 0x45;
constexpr unsigned char compat_accelerator_target = 0x09;

constexpr std::uint32_t stack_size_unknown = 0xFFFFFFFF;  // Recursion.

// From sm_90 on the first KiB of a block's shared memory is the system's, and sections count it.
constexpr int first_with_reserved_shared = 90;
constexpr std::uint64_t reserved_shared_bytes = 1024;

constexpr std::size_t longest_name = 8192;

constexpr std::size_t most_global_symbols = 64;

[[noreturn]] void refuse(std::string_view what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("The bytes are no cubin: {}.", what));
}

struct Architecture {
  int number = 0;
  bool accelerated = false;
};

class Cubin {
 public:
  explicit Cubin(std::span<const std::byte> bytes) : bytes_(bytes) {
    read_header();
    read_sections();
  }

  [[nodiscard]] Architecture architecture() {
    const bool old = header_.e_ident[EI_OSABI] == os_abi_old;
    Architecture result;
    result.number = static_cast<int>(old ? header_.e_flags & 0xFF : header_.e_flags >> 8 & 0xFF);
    result.accelerated =
        (header_.e_flags & (old ? flag_accelerated_old : flag_accelerated_new)) != 0;
    if (!old) {
      if (const auto compat = section(".nv.compat")) {
        for_each_record(*compat, [&](const Record& record) {
          if (record.attribute == compat_accelerator_target && (record.value & 0xFF) != 0) {
            result.accelerated = true;
          }
        });
      }
    }
    if (result.number < 10) refuse("its architecture is unknown");
    return result;
  }

  [[nodiscard]] std::vector<KernelResources> kernels() {
    read_functions();
    const bool reserves = architecture().number >= first_with_reserved_shared;
    std::vector<KernelResources> kernels;
    std::unordered_set<std::string_view> seen;
    for_each_symbol([&](const Elf64_Sym& symbol, std::uint32_t index, auto name_of) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || (symbol.st_other & symbol_is_kernel) == 0) {
        return;
      }
      const std::string_view name = name_of();
      if (!seen.insert(name).second) refuse("two of its kernels have one name");
      kernels.push_back(kernel(name, index, reserves));
    });
    return kernels;
  }

  [[nodiscard]] ModuleMemory memory() {
    ModuleMemory result;
    std::unordered_map<std::size_t, std::size_t> globals;  // Number of a section: place in result.
    for (std::size_t i = 1; i < sections_.size(); ++i) {
      if (is_global(sections_[i])) {
        globals.emplace(i, result.globals.size());
        result.globals.push_back({sections_[i].sh_size, {}});
      }
    }
    std::unordered_set<std::size_t> managed;
    for_each_symbol([&](const Elf64_Sym& symbol, std::uint32_t, auto name_of) {
      if (symbol.st_shndx == SHN_UNDEF && symbol.st_name != 0) {
        const std::string_view name = name_of();
        result.heap = result.heap || name == "malloc" || name == "free";
      }
      const auto found = globals.find(symbol.st_shndx);
      if (found == globals.end() || ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT) return;
      auto& symbols = result.globals[found->second].symbols;
      if ((symbol.st_other & symbol_is_managed) != 0) {
        managed.insert(found->second);
      } else if (symbols.size() < most_global_symbols) {
        symbols.push_back({std::string(name_of()), symbol.st_value});
      }
    });
    for (const std::size_t one : managed) result.globals[one].symbols.clear();
    return result;
  }

 private:
  struct Record {
    unsigned char attribute;
    std::uint16_t value;
    std::span<const std::byte> payload;  // Of a sized record.
  };

  struct Function {
    std::uint32_t registers = 0;
    std::uint64_t stack_bytes = 0;
  };

  // Sections of a hostile file may overlap, so that a small file takes long to read.
  void spend(std::size_t bytes) {
    if (bytes > budget_) refuse("its sections overlap");
    budget_ -= bytes;
  }

  template <class T>
  static T read(std::span<const std::byte> from, std::size_t at) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (at > from.size() || sizeof(T) > from.size() - at) refuse("it ends too early");
    T value;
    std::memcpy(&value, from.data() + at, sizeof(T));
    return value;
  }

  // Calls `visit(symbol, index, name_of)`; the name is read only when it is asked for.
  template <class Visit>
  void for_each_symbol(Visit&& visit) {
    const auto table = section(".symtab");
    if (!table) refuse("it has no symbols");
    if (table->sh_type != SHT_SYMTAB || table->sh_entsize != sizeof(Elf64_Sym) ||
        table->sh_link >= sections_.size()) {
      refuse("its table of symbols is malformed");
    }
    const std::span<const std::byte> symbols = contents(*table);
    const std::span<const std::byte> names = contents(sections_[table->sh_link]);
    spend(symbols.size());
    for (std::uint32_t index = 0; (index + 1) * sizeof(Elf64_Sym) <= symbols.size(); ++index) {
      const auto symbol = read<Elf64_Sym>(symbols, index * sizeof(Elf64_Sym));
      visit(symbol, index, [&] { return name_at(names, symbol.st_name); });
    }
  }

  // What a kernel can write and no launch clears: all that is loaded writable, whatever its name,
  // and constants, which are no more protected than that by their generic addresses. Shared memory
  // has sections that look the same.
  bool is_global(const Elf64_Shdr& section) {
    const std::string_view name = name_at(contents(sections_[header_.e_shstrndx]), section.sh_name);
    const bool writable =
        (section.sh_flags & SHF_ALLOC) != 0 && (section.sh_flags & SHF_WRITE) != 0;
    return section.sh_size > 0 && !name.starts_with(".nv.shared.") &&
           (writable || name.starts_with(".nv.global") || name == ".nv.constant3");
  }

  std::string_view name_at(std::span<const std::byte> names, std::size_t at) {
    if (at >= names.size()) refuse("a name lies outside its table");
    const char* begin = reinterpret_cast<const char*>(names.data()) + at;
    const std::size_t most = std::min(names.size() - at, longest_name);
    const void* end = std::memchr(begin, 0, most);
    if (end == nullptr) refuse("a name has no end");
    const std::string_view name(begin, static_cast<const char*>(end));
    spend(name.size());
    return name;
  }

  void read_header() {
    header_ = read<Elf64_Ehdr>(bytes_, 0);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) refuse("it is no ELF file");
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB) {
      refuse("it is no 64-bit little-endian ELF file");
    }
    if (header_.e_machine != EM_CUDA) refuse("it is for another machine than a GPU");
    if (header_.e_ident[EI_OSABI] != os_abi_old && header_.e_ident[EI_OSABI] != os_abi_new) {
      refuse("its layout is unknown");
    }
    if (header_.e_type != ET_EXEC) refuse("it is not linked");
  }

  void read_sections() {
    if (header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shnum == 0 ||
        header_.e_shstrndx >= header_.e_shnum) {
      refuse("its section headers are malformed");
    }
    if (header_.e_shoff > bytes_.size()) refuse("its section headers lie outside the file");
    const std::span<const std::byte> headers = bytes_.subspan(header_.e_shoff);
    for (std::size_t i = 0; i < header_.e_shnum; ++i) {
      sections_.push_back(read<Elf64_Shdr>(headers, i * sizeof(Elf64_Shdr)));
    }
    const std::span<const std::byte> names = contents(sections_[header_.e_shstrndx]);
    for (std::size_t i = 1; i < sections_.size(); ++i) {
      const std::string_view name = name_at(names, sections_[i].sh_name);
      if (!by_name_.emplace(name, i).second && is_read(name)) {
        refuse("two of its sections have one name");
      }
    }
  }

  // Of the sections that this reader looks at no name may come twice: which one counts?
  static bool is_read(std::string_view name) {
    return name == ".symtab" || name == ".nv.compat" || name.starts_with(".nv.info") ||
           name.starts_with(".nv.shared.") || name.starts_with(".text.");
  }

  [[nodiscard]] std::optional<Elf64_Shdr> section(const std::string& name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return std::nullopt;
    return sections_[found->second];
  }

  [[nodiscard]] std::span<const std::byte> contents(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS || section.sh_offset > bytes_.size() ||
        section.sh_size > bytes_.size() - section.sh_offset) {
      refuse("a section lies outside the file");
    }
    return bytes_.subspan(section.sh_offset, section.sh_size);
  }

  template <class Visit>
  void for_each_record(const Elf64_Shdr& section, Visit&& visit) {
    std::span<const std::byte> rest = contents(section);
    spend(rest.size());
    while (!rest.empty()) {
      const auto format = read<unsigned char>(rest, 0);
      Record record{read<unsigned char>(rest, 1), read<std::uint16_t>(rest, 2), {}};
      rest = rest.subspan(4);
      if (format == format_sized) {
        if (record.value > rest.size()) refuse("a record is longer than its section");
        record.payload = rest.first(record.value);
        rest = rest.subspan(record.value);
      } else if (format != format_none && format != format_byte && format != format_half) {
        refuse("a record has an unknown format");
      }
      visit(record);
    }
  }

  // What .nv.info says of functions, by the index of their symbol.
  void read_functions() {
    const auto info = section(".nv.info");
    if (!info) return;
    for_each_record(*info, [&](const Record& record) {
      const bool registers = record.attribute == attribute_registers;
      const bool stack =
          record.attribute == attribute_frame_size || record.attribute == attribute_min_stack_size;
      if (!registers && !stack) return;
      Function& function = functions_[read<std::uint32_t>(record.payload, 0)];
      const auto value = read<std::uint32_t>(record.payload, 4);
      if (registers) {
        function.registers = value;
      } else if (value != stack_size_unknown) {
        function.stack_bytes = std::max<std::uint64_t>(function.stack_bytes, value);
      }
    });
  }

  [[nodiscard]] KernelResources kernel(std::string_view name, std::uint32_t symbol, bool reserves) {
    KernelResources result;
    result.function = name;
    if (!section(fmt::format(".text.{}", name))) refuse("a kernel has no code");
    if (const auto function = functions_.find(symbol); function != functions_.end()) {
      result.registers = function->second.registers;
      result.stack_bytes = function->second.stack_bytes;
    }
    if (const auto shared = section(fmt::format(".nv.shared.{}", name))) {
      result.shared_bytes = shared->sh_size;
      if (reserves) {
        result.shared_bytes -= std::min(result.shared_bytes, reserved_shared_bytes);
      }
    }
    if (const auto info = section(fmt::format(".nv.info.{}", name))) {
      read_parameters(*info, result);
    }
    return result;
  }

  void read_parameters(const Elf64_Shdr& info, KernelResources& result) {
    std::vector<std::pair<std::uint16_t, ParameterField>> fields;  // By ordinal.
    for_each_record(info, [&](const Record& record) {
      if (record.attribute == attribute_parameter_bytes) result.parameter_bytes = record.value;
      const bool second = record.attribute == attribute_parameter_v2;
      if (record.attribute != attribute_parameter && !second) return;
      const auto ordinal = read<std::uint16_t>(record.payload, 4);
      const std::uint32_t offset = read<std::uint16_t>(record.payload, 6);
      // The first form has 14 bits for the size, above alignment, space and bank.
      const std::uint32_t size = second ? read<std::uint16_t>(record.payload, 8)
                                        : read<std::uint32_t>(record.payload, 8) >> 18;
      fields.push_back({ordinal, {offset, size}});
    });
    std::sort(fields.begin(), fields.end(),
              [](const auto& one, const auto& other) { return one.first < other.first; });
    std::uint32_t end = 0;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const auto& [ordinal, field] = fields[i];
      if (ordinal != i || field.offset < end) refuse("a kernel's parameters are malformed");
      end = field.offset + field.size;
      result.parameters.push_back(field);
    }
    if (end > result.parameter_bytes) refuse("a kernel's parameters exceed their block");
  }

  std::span<const std::byte> bytes_;
  std::size_t budget_ = 4096 + 16 * bytes_.size();
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> sections_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::unordered_map<std::uint32_t, Function> functions_;
};

}  // namespace

std::vector<KernelResources> kernel_resources(std::span<const std::byte> cubin) {
  return Cubin(cubin).kernels();
}

ModuleMemory module_memory(std::span<const std::byte> cubin) { return Cubin(cubin).memory(); }

std::string cubin_target(std::span<const std::byte> cubin) {
  const Architecture architecture = Cubin(cubin).architecture();
  return fmt::format("sm_{}{}", architecture.number, architecture.accelerated ? "a" : "");
}

}  // namespace ouroboros
