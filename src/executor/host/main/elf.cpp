#include "executor/host/main/elf.hpp"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "executor/host/main/elf_image.hpp"
#include "executor/host/main/elf_runtime.hpp"

// What libgcc gives for code that no dynamic loader knows.
extern "C" void __register_frame(void* begin);
extern "C" void __deregister_frame(void* begin);

namespace ouroboros::host {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t relocation_none = R_X86_64_NONE;
constexpr std::uint32_t relocation_relative = R_X86_64_RELATIVE;
constexpr std::uint32_t relocation_absolute = R_X86_64_64;
constexpr std::uint32_t relocation_glob_dat = R_X86_64_GLOB_DAT;
constexpr std::uint32_t relocation_jump_slot = R_X86_64_JUMP_SLOT;
constexpr std::uint32_t relocation_irelative = R_X86_64_IRELATIVE;
constexpr std::uint32_t relocation_tls_module = R_X86_64_DTPMOD64;
constexpr std::uint32_t relocation_tls_offset = R_X86_64_DTPOFF64;
constexpr std::uint32_t relocation_tls_descriptor = R_X86_64_TLSDESC;
constexpr std::uint32_t relocation_tls_initial_exec = R_X86_64_TPOFF64;
constexpr std::uint32_t relocation_copy = R_X86_64_COPY;
#else
constexpr std::uint32_t relocation_none = R_AARCH64_NONE;
constexpr std::uint32_t relocation_relative = R_AARCH64_RELATIVE;
constexpr std::uint32_t relocation_absolute = R_AARCH64_ABS64;
constexpr std::uint32_t relocation_glob_dat = R_AARCH64_GLOB_DAT;
constexpr std::uint32_t relocation_jump_slot = R_AARCH64_JUMP_SLOT;
constexpr std::uint32_t relocation_irelative = R_AARCH64_IRELATIVE;
constexpr std::uint32_t relocation_tls_module = R_AARCH64_TLS_DTPMOD;
constexpr std::uint32_t relocation_tls_offset = R_AARCH64_TLS_DTPREL;
constexpr std::uint32_t relocation_tls_descriptor = R_AARCH64_TLSDESC;
constexpr std::uint32_t relocation_tls_initial_exec = R_AARCH64_TLS_TPREL;
constexpr std::uint32_t relocation_copy = R_AARCH64_COPY;
#endif

using Constructor = void (*)(int, char**, char**);

}  // namespace

struct Module::State {
  struct Export {
    void* address;
    bool indirect;  // an IFUNC: the address is its resolver's
  };
  /// A word that only candidate code can compute.
  struct Indirect {
    std::byte* slot;
    const void* resolver;
    std::uint64_t addend;
  };

  std::byte* reservation = nullptr;
  std::size_t reservation_bytes = 0;
  std::byte* base = nullptr;  // where virtual address zero is
  std::byte* tls_storage = nullptr;
  const std::byte* tls_image = nullptr;
  std::size_t tls_image_bytes = 0;
  std::byte* unwind_table = nullptr;
  bool started = false;
  std::map<std::string, Export, std::less<>> exports;
  std::vector<Indirect> indirects;
  std::vector<Constructor> constructors;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (started && unwind_table != nullptr) __deregister_frame(unwind_table);
    if (reservation != nullptr) munmap(reservation, reservation_bytes);
  }
};

/// Fills a module's state from an image, in the order of its public functions.
class Loader {
 public:
  Loader(const Image& image, const Module::Resolver& resolve, Module::State& state)
      : image_(image), resolve_(resolve), state_(state), resolved_(image.symbol_count()) {}

  /// [guard][image][guard][thread-local storage][guard], all of it inaccessible at first.
  void reserve() {
    std::uint64_t alignment = module_guard_bytes;
    for (const Elf64_Phdr& segment : image_.segments()) {
      alignment = std::max<std::uint64_t>(alignment, segment.p_align);
    }
    const std::uint64_t image_bytes = round_up(image_.span(), module_guard_bytes);
    std::uint64_t tls_bytes = 0;
    if (image_.tls()) {
      tls_bytes = round_up(image_.tls()->p_memsz + tls_misalignment(), module_guard_bytes);
    }
    if (image_bytes + tls_bytes > max_module_bytes)
      refuse("the module needs more than 1 GiB of memory");

    const std::uint64_t total = image_bytes + tls_bytes + 3 * module_guard_bytes + alignment;
    void* memory =
        mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) fail_memory(total);
    state_.reservation = static_cast<std::byte*>(memory);
    state_.reservation_bytes = total;

    const auto first = reinterpret_cast<std::uintptr_t>(memory);
    const std::uintptr_t aligned =
        (first + module_guard_bytes + alignment - 1) / alignment * alignment;
    state_.base = state_.reservation + (aligned - first);
    if (tls_bytes != 0) {
      std::byte* pages = state_.base + image_bytes + module_guard_bytes;
      set_access(pages, tls_bytes, PROT_READ | PROT_WRITE);
      state_.tls_storage = pages + tls_misalignment();
      state_.tls_image = state_.base + image_.tls()->p_vaddr;
      state_.tls_image_bytes = image_.tls()->p_filesz;
    }
  }

  void copy_segments() {
    for (const Elf64_Phdr& segment : image_.segments()) {
      const std::uint64_t start = round_down(segment.p_vaddr, machine_page_bytes());
      set_access(state_.base + start, segment.p_vaddr + segment.p_memsz - start,
                 PROT_READ | PROT_WRITE);
      const std::span<const std::byte> contents = image_.contents(segment);
      std::copy(contents.begin(), contents.end(), state_.base + segment.p_vaddr);
    }
  }

  void relocate() {
    const Image::Dynamic& dynamic = image_.dynamic();
    relocate_packed(dynamic.relr, dynamic.relr_bytes);
    relocate_table(dynamic.rela, dynamic.rela_bytes);
    relocate_table(dynamic.plt_rela, dynamic.plt_rela_bytes);
  }

  void collect_exports() {
    for (std::uint64_t i = 1; i < image_.symbol_count(); ++i) {
      const Elf64_Sym symbol = image_.symbol(i);
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) continue;
      if (type != STT_FUNC && type != STT_GNU_IFUNC) continue;
      const char* name = image_.name_of(symbol);
      state_.exports.insert_or_assign(
          name, Module::State::Export{code(symbol.st_value, name), type == STT_GNU_IFUNC});
    }
  }

  /// The constructors, in order. Their table has been relocated by now.
  void collect_constructors() {
    const Image::Dynamic& dynamic = image_.dynamic();
    const auto add = [this](void* function) {
      state_.constructors.push_back(reinterpret_cast<Constructor>(function));
    };
    if (dynamic.init) add(code(*dynamic.init, "DT_INIT"));
    const std::uint64_t count = dynamic.init_array_bytes / sizeof(std::uint64_t);
    if (count == 0) return;
    if (count > max_constructors) refuse("the module's table of constructors is too long");
    if (image_.segment_of(dynamic.init_array, dynamic.init_array_bytes, PF_R) == nullptr) {
      refuse("the module's table of constructors lies outside its memory");
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto address = read_at<std::uint64_t>(state_.base + dynamic.init_array + i * 8);
      add(code(address - reinterpret_cast<std::uint64_t>(state_.base), "DT_INIT_ARRAY"));
    }
  }

  /// The unwinder reads the table record by record until a length of zero, so that end must exist.
  void find_unwind_table() {
    if (!image_.unwind_header()) return;
    struct Header {
      std::uint8_t version, table_encoding, count_encoding, search_encoding;
      std::int32_t table;
    };
    constexpr std::uint8_t pc_relative32 = 0x1b;
    constexpr std::uint64_t table_field = offsetof(Header, table);
    const std::uint64_t address = image_.unwind_header()->p_vaddr;
    const auto header = read_at<Header>(image_.at(address, sizeof(Header), "unwind header"));
    if (header.version != 1 || header.table_encoding != pc_relative32) {
      refuse("the module's unwind header has an unknown version or encoding");
    }
    const std::uint64_t table =
        address + table_field + static_cast<std::uint64_t>(std::int64_t{header.table});
    const Elf64_Phdr* segment = image_.segment_of(table, sizeof(std::uint32_t), PF_R);
    if (segment == nullptr) refuse("the module's unwind table lies outside its memory");
    // Past the segment, the rest of its last page is zeros, and is the module's as well.
    const std::uint64_t end = round_up(segment->p_vaddr + segment->p_memsz, machine_page_bytes());

    std::uint64_t record = table;
    for (;;) {
      if (!fits(record, sizeof(std::uint32_t), end)) refuse_unwind_table();
      const auto bytes = read_at<std::uint32_t>(state_.base + record);
      if (bytes == 0) break;
      const std::uint64_t body = record + sizeof(std::uint32_t);
      if (bytes < sizeof(std::uint32_t) || !fits(body, bytes, end)) refuse_unwind_table();
      const auto back = read_at<std::uint32_t>(state_.base + body);
      // Zero starts a common record; anything else is the distance back to one.
      if (back != 0) {
        const bool inside = back <= body - table && fits(body - back, 8, end);
        if (!inside || read_at<std::uint32_t>(state_.base + (body - back) + 4) != 0) {
          refuse_unwind_table();
        }
      }
      record = body + bytes;
    }
    if (record != table) state_.unwind_table = state_.base + table;
  }

  /// Gives every segment its own access. PT_GNU_RELRO is left writable on purpose: `start` writes
  /// there, nothing can change access after the seal, and all it would protect is the candidate
  /// from itself.
  void protect() {
    for (const Elf64_Phdr& segment : image_.segments()) {
      int access = PROT_NONE;
      if ((segment.p_flags & PF_R) != 0) access |= PROT_READ;
      if ((segment.p_flags & PF_W) != 0) access |= PROT_WRITE;
      if ((segment.p_flags & PF_X) != 0) access |= PROT_EXEC;
      std::byte* first = state_.base + segment.p_vaddr;
      if ((access & PROT_EXEC) != 0) {
        __builtin___clear_cache(reinterpret_cast<char*>(first),
                                reinterpret_cast<char*>(first + segment.p_memsz));
      }
      const std::uint64_t start = round_down(segment.p_vaddr, machine_page_bytes());
      set_access(state_.base + start, segment.p_vaddr + segment.p_memsz - start, access);
    }
  }

 private:
  [[nodiscard]] std::uint64_t tls_misalignment() const {
    return image_.tls()->p_align > 1 ? image_.tls()->p_vaddr % image_.tls()->p_align : 0;
  }

  [[noreturn]] static void fail_memory(std::uint64_t bytes) {
    if (errno == ENOMEM) {
      refuse("the module needs " + std::to_string(bytes) +
             " bytes of memory, which it cannot have");
    }
    throw std::system_error(errno, std::generic_category(), "cannot map pages for a module");
  }

  static void set_access(std::byte* first, std::uint64_t bytes, int access) {
    if (mprotect(first, bytes, access) != 0) fail_memory(bytes);
  }

  [[noreturn]] static void refuse_unwind_table() {
    refuse(
        "the module's unwind table (.eh_frame) is malformed or has no end mark; link it with "
        "-nodefaultlibs rather than -nostdlib, so that crtendS.o ends it");
  }

  /// The address of candidate code, which must be in an executable segment.
  [[nodiscard]] void* code(std::uint64_t address, const char* name) const {
    if (image_.segment_of(address, 1, PF_X) == nullptr) {
      refuse("the function " + printable(name) + " lies outside the module's executable segments");
    }
    return state_.base + address;
  }

  /// Where a relocation may write: `bytes` in a writable segment of the module, nowhere else.
  [[nodiscard]] std::byte* slot(std::uint64_t address, std::uint64_t bytes = 8) const {
    if (image_.segment_of(address, bytes, PF_W) == nullptr) {
      refuse("a relocation writes outside the module's writable segments");
    }
    return state_.base + address;
  }

  static void store(std::byte* where, std::uint64_t value) {
    std::memcpy(where, &value, sizeof value);
  }

  [[nodiscard]] std::uint64_t base_address() const {
    return reinterpret_cast<std::uint64_t>(state_.base);
  }

  /// The value of a symbol that is neither thread-local nor indirect.
  [[nodiscard]] std::uint64_t value_of(std::uint64_t index, const Elf64_Sym& symbol) {
    if (symbol.st_shndx == SHN_ABS) return symbol.st_value;
    if (index == 0) return 0;
    if (symbol.st_shndx != SHN_UNDEF) return base_address() + symbol.st_value;
    if (!resolved_[index]) resolved_[index] = ask(symbol);
    return *resolved_[index];
  }

  [[nodiscard]] std::uint64_t ask(const Elf64_Sym& symbol) const {
    const char* name = image_.name_of(symbol);
    void* found = own_symbol(name);
    if (found == nullptr) found = resolve_(name);
    if (found == nullptr && ELF64_ST_BIND(symbol.st_info) != STB_WEAK) {
      refuse("the symbol " + printable(name) +
             " is unknown: candidates have the C and C++ standard "
             "libraries, libm and libgcc");
    }
    return reinterpret_cast<std::uint64_t>(found);
  }

  /// The offset of a thread-local variable in the module's own storage.
  [[nodiscard]] std::uint64_t tls_offset(std::uint64_t index) const {
    std::uint64_t offset = 0;
    if (index != 0) {
      const Elf64_Sym symbol = image_.symbol(index);
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_TLS) {
        refuse("the thread-local variable " + printable(image_.name_of(symbol)) +
               " is not the module's own, which is not supported (std::call_once and std::async "
               "need such)");
      }
      offset = symbol.st_value;
    }
    if (state_.tls_storage == nullptr) {
      refuse("a relocation is thread-local, but the module has no thread-local segment");
    }
    return offset;
  }

  void relocate_symbol(const Elf64_Rela& entry, std::uint64_t index) {
    const Elf64_Sym symbol = image_.symbol(index);
    const auto addend = static_cast<std::uint64_t>(entry.r_addend);
    std::byte* where = slot(entry.r_offset);
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_TLS) refuse("an ordinary relocation names a thread-local variable");
    if (type == STT_GNU_IFUNC && symbol.st_shndx != SHN_UNDEF) {
      const char* name = image_.name_of(symbol);
      state_.indirects.push_back({where, code(symbol.st_value, name), addend});
      return;
    }
    store(where, value_of(index, symbol) + addend);
  }

  void relocate_one(const Elf64_Rela& entry) {
    const std::uint64_t index = ELF64_R_SYM(entry.r_info);
    const std::uint32_t type = ELF64_R_TYPE(entry.r_info);
    const auto addend = static_cast<std::uint64_t>(entry.r_addend);
    switch (type) {
      case relocation_none:
        break;
      case relocation_relative:
        store(slot(entry.r_offset), base_address() + addend);
        break;
      case relocation_absolute:
      case relocation_glob_dat:
      case relocation_jump_slot:
        relocate_symbol(entry, index);
        break;
      case relocation_irelative:
        state_.indirects.push_back({slot(entry.r_offset), code(addend, "IFUNC resolver"), 0});
        break;
      case relocation_tls_module:
        static_cast<void>(tls_offset(index));  // refuses what is not the module's own
        store(slot(entry.r_offset), reinterpret_cast<std::uint64_t>(state_.tls_storage));
        break;
      case relocation_tls_offset:
        store(slot(entry.r_offset), tls_offset(index) + addend);
        break;
      case relocation_tls_descriptor: {
        std::byte* descriptor = slot(entry.r_offset, 16);
        store(descriptor, tls_descriptor_function());
        store(descriptor + 8, reinterpret_cast<std::uint64_t>(state_.tls_storage) +
                                  tls_offset(index) + addend - thread_pointer());
        break;
      }
      case relocation_tls_initial_exec:
        refuse(
            "initial-exec thread-local storage is not supported; leave out the tls_model "
            "attribute and -ftls-model");
      case relocation_copy:
        refuse("copy relocations are not supported");
      default:
        refuse("relocations of type " + std::to_string(type) + " are not supported");
    }
  }

  void relocate_table(std::uint64_t address, std::uint64_t bytes) {
    if (bytes == 0) return;
    const std::byte* table = image_.at(address, bytes, "relocation table");
    if (bytes % sizeof(Elf64_Rela) != 0)
      refuse("the module's relocation table has a part of an entry");
    for (std::uint64_t offset = 0; offset < bytes; offset += sizeof(Elf64_Rela)) {
      relocate_one(read_at<Elf64_Rela>(table + offset));
    }
  }

  void add_base(std::uint64_t address) {
    std::byte* where = slot(address);
    store(where, read_at<std::uint64_t>(where) + base_address());
  }

  /// DT_RELR: an even word is the address of a word to relocate; an odd one is a bitmap of the 63
  /// words that follow what came before.
  void relocate_packed(std::uint64_t address, std::uint64_t bytes) {
    if (bytes == 0) return;
    const std::byte* table = image_.at(address, bytes, "packed relocation table");
    if (bytes % 8 != 0) refuse("the module's packed relocation table has a part of an entry");
    std::uint64_t next = 0;
    for (std::uint64_t offset = 0; offset < bytes; offset += 8) {
      const auto entry = read_at<std::uint64_t>(table + offset);
      if ((entry & 1) == 0) {
        add_base(entry);
        next = entry + 8;
        continue;
      }
      for (unsigned bit = 1; bit < 64; ++bit) {
        if ((entry >> bit & 1) != 0) add_base(next + (bit - 1) * 8);
      }
      next += 63 * 8;
    }
  }

  const Image& image_;
  const Module::Resolver& resolve_;
  Module::State& state_;
  std::vector<std::optional<std::uint64_t>> resolved_;  // by symbol, so that each is asked for once
};

Module::Module(std::unique_ptr<State> state) : state_(std::move(state)) {}
Module::~Module() = default;
Module::Module(Module&& other) noexcept = default;
Module& Module::operator=(Module&& other) noexcept = default;

Module Module::map(std::span<const std::byte> bytes, const Resolver& resolve) try {
  const Image image(bytes);
  auto state = std::make_unique<State>();
  Loader loader(image, resolve, *state);
  loader.reserve();
  loader.copy_segments();
  loader.relocate();
  loader.collect_exports();
  loader.collect_constructors();
  loader.find_unwind_table();
  loader.protect();
  return Module(std::move(state));
} catch (const std::bad_alloc&) {  // the tables are as large as the file says
  refuse("the module's tables need more memory than the executor has");
}

void* Module::find(std::string_view name) const {
  const auto found = state_->exports.find(name);
  if (found == state_->exports.end()) return nullptr;
  const State::Export& entry = found->second;
  if (!entry.indirect) return entry.address;
  if (!state_->started) return nullptr;
  return reinterpret_cast<void*>(run_resolver(entry.address));
}

bool Module::exports(std::string_view name) const { return state_->exports.contains(name); }

void Module::start() {
  state_->started = true;
  for (const State::Indirect& indirect : state_->indirects) {
    const std::uint64_t value = run_resolver(indirect.resolver) + indirect.addend;
    std::memcpy(indirect.slot, &value, sizeof value);
  }
  // Only now: the initial values may hold addresses that relocations and resolvers wrote.
  if (state_->tls_image_bytes != 0) {
    std::memcpy(state_->tls_storage, state_->tls_image, state_->tls_image_bytes);
  }
  if (state_->unwind_table != nullptr) __register_frame(state_->unwind_table);
  char* nothing[] = {nullptr};
  for (const Constructor constructor : state_->constructors) constructor(0, nothing, nothing);
}

}  // namespace ouroboros::host
