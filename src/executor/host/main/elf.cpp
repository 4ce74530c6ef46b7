#include "executor/host/main/elf.hpp"

#include <elf.h>
#include <sys/auxv.h>
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

// What libgcc gives for code that no dynamic loader knows.
extern "C" void __register_frame(void* begin);
extern "C" void __deregister_frame(void* begin);

// A TLS descriptor is {function, argument}; compiled code calls the function with the descriptor's
// address and adds the answer to the thread pointer. Ours answers with the argument. The calling
// convention lets it change no other register, hence the assembly.
extern "C" void ouroboros_tls_descriptor() __attribute__((visibility("hidden")));
#if defined(__x86_64__)
asm(R"(
  .pushsection .text
  .hidden ouroboros_tls_descriptor
  .globl ouroboros_tls_descriptor
  .type ouroboros_tls_descriptor, @function
ouroboros_tls_descriptor:
  endbr64
  movq 8(%rax), %rax
  ret
  .size ouroboros_tls_descriptor, . - ouroboros_tls_descriptor
  .popsection
)");
#elif defined(__aarch64__)
asm(R"(
  .pushsection .text
  .hidden ouroboros_tls_descriptor
  .globl ouroboros_tls_descriptor
  .type ouroboros_tls_descriptor, %function
ouroboros_tls_descriptor:
  hint #34 // bti c
  ldr x0, [x0, #8]
  ret
  .size ouroboros_tls_descriptor, . - ouroboros_tls_descriptor
  .popsection
)");
#else
#error "The host executor knows x86-64 and AArch64."
#endif

namespace ouroboros::host {
namespace {

constexpr std::uint64_t kGuardBytes = 64 * 1024;  // a multiple of every page size in use
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxAlignment = std::uint64_t{2} << 20;
constexpr std::size_t kMaxSegments = 64;
constexpr std::uint64_t kMaxConstructors = 64 * 1024;

// Younger than the oldest <elf.h> that this is built with.
constexpr std::int64_t kDtRelrsz = 35;
constexpr std::int64_t kDtRelr = 36;
constexpr std::int64_t kDtRelrent = 37;

#if defined(__x86_64__)
constexpr std::uint16_t kMachine = EM_X86_64;
constexpr std::uint32_t kNone = R_X86_64_NONE;
constexpr std::uint32_t kRelative = R_X86_64_RELATIVE;
constexpr std::uint32_t kAbsolute = R_X86_64_64;
constexpr std::uint32_t kGlobDat = R_X86_64_GLOB_DAT;
constexpr std::uint32_t kJumpSlot = R_X86_64_JUMP_SLOT;
constexpr std::uint32_t kIrelative = R_X86_64_IRELATIVE;
constexpr std::uint32_t kTlsModule = R_X86_64_DTPMOD64;
constexpr std::uint32_t kTlsOffset = R_X86_64_DTPOFF64;
constexpr std::uint32_t kTlsDescriptor = R_X86_64_TLSDESC;
constexpr std::uint32_t kTlsInitialExec = R_X86_64_TPOFF64;
constexpr std::uint32_t kCopy = R_X86_64_COPY;
#else
constexpr std::uint16_t kMachine = EM_AARCH64;
constexpr std::uint32_t kNone = R_AARCH64_NONE;
constexpr std::uint32_t kRelative = R_AARCH64_RELATIVE;
constexpr std::uint32_t kAbsolute = R_AARCH64_ABS64;
constexpr std::uint32_t kGlobDat = R_AARCH64_GLOB_DAT;
constexpr std::uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT;
constexpr std::uint32_t kIrelative = R_AARCH64_IRELATIVE;
constexpr std::uint32_t kTlsModule = R_AARCH64_TLS_DTPMOD;
constexpr std::uint32_t kTlsOffset = R_AARCH64_TLS_DTPREL;
constexpr std::uint32_t kTlsDescriptor = R_AARCH64_TLSDESC;
constexpr std::uint32_t kTlsInitialExec = R_AARCH64_TLS_TPREL;
constexpr std::uint32_t kCopy = R_AARCH64_COPY;
#endif

[[noreturn]] void refuse(const std::string& sentence) { throw LoadError(sentence); }

/// A hostile name, made fit to stand in a sentence.
std::string printable(std::string_view name) {
  constexpr std::size_t kLongest = 200;
  std::string text(name.substr(0, kLongest));
  for (char& c : text) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  if (name.size() > kLongest) text += "...";
  return "'" + text + "'";
}

/// Whether [start, start + size) lies inside [0, limit). Nothing here can wrap around.
constexpr bool fits(std::uint64_t start, std::uint64_t size, std::uint64_t limit) {
  return size <= limit && start <= limit - size;
}

constexpr std::uint64_t round_down(std::uint64_t value, std::uint64_t unit) {
  return value / unit * unit;
}

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(getpagesize()); }

/// Only for values up to `kMaxBytes`, as every caller has checked.
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return round_down(value + unit - 1, unit);
}

template <typename T>
T read_at(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::uint64_t thread_pointer() {
#if defined(__x86_64__)
  std::uint64_t pointer;
  asm("movq %%fs:0, %0" : "=r"(pointer));
  return pointer;
#else
  return reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
#endif
}

/// What compiled code passes to __tls_get_addr. The module's number, which only this loader gives
/// and reads, is the address of the module's thread-local storage.
struct TlsIndex {
  std::byte* storage;
  std::uint64_t offset;
};

void* tls_get_addr(const TlsIndex* index) { return index->storage + index->offset; }

/// Takes a destructor that will never run: a sealed process ends without unwinding.
int ignore_destructor() { return 0; }

void* own_symbol(std::string_view name) {
  if (name == "__tls_get_addr") return reinterpret_cast<void*>(&tls_get_addr);
  if (name == "__cxa_atexit" || name == "__cxa_thread_atexit") {
    return reinterpret_cast<void*>(&ignore_destructor);
  }
  return nullptr;
}

using Constructor = void (*)(int, char**, char**);

std::uint64_t run_resolver(const void* resolver) {
#if defined(__x86_64__)
  return reinterpret_cast<std::uint64_t (*)()>(const_cast<void*>(resolver))();
#else
  struct Capabilities {
    std::uint64_t size;
    std::uint64_t hwcap;
    std::uint64_t hwcap2;
  };
  constexpr std::uint64_t kCapabilitiesFollow = std::uint64_t{1} << 62;
  const Capabilities capabilities{sizeof(Capabilities), getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
  return reinterpret_cast<std::uint64_t (*)(std::uint64_t, const Capabilities*)>(
      const_cast<void*>(resolver))(capabilities.hwcap | kCapabilitiesFollow, &capabilities);
#endif
}

/// The file as it came, checked: segments, the dynamic table, and ranges of it by virtual address.
/// Everything that steers the loader is read from here and never from mapped memory, so that no
/// relocation can change it under way.
class Image {
 public:
  struct Dynamic {
    std::uint64_t hash = 0, symbols = 0, strings = 0, strings_bytes = 0;
    std::uint64_t rela = 0, rela_bytes = 0, plt_rela = 0, plt_rela_bytes = 0;
    std::uint64_t relr = 0, relr_bytes = 0;
    std::uint64_t init_array = 0, init_array_bytes = 0;
    std::optional<std::uint64_t> init;
  };

  explicit Image(std::span<const std::byte> bytes) : bytes_(bytes) {
    read_headers();
    read_dynamic();
  }

  [[nodiscard]] const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  [[nodiscard]] const std::optional<Elf64_Phdr>& tls() const { return tls_; }
  [[nodiscard]] const std::optional<Elf64_Phdr>& unwind_header() const { return unwind_header_; }
  [[nodiscard]] const Dynamic& dynamic() const { return dynamic_; }
  [[nodiscard]] std::uint64_t symbol_count() const { return symbol_count_; }

  /// The end of the last segment: the bytes that the module needs from virtual address zero on.
  [[nodiscard]] std::uint64_t span() const {
    return segments_.back().p_vaddr + segments_.back().p_memsz;
  }

  [[nodiscard]] std::span<const std::byte> contents(const Elf64_Phdr& segment) const {
    return bytes_.subspan(segment.p_offset, segment.p_filesz);
  }

  /// The file's bytes behind a range of virtual addresses. `what` names it in the refusal.
  [[nodiscard]] const std::byte* at(std::uint64_t address, std::uint64_t size,
                                    const char* what) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (address >= segment.p_vaddr && fits(address - segment.p_vaddr, size, segment.p_filesz)) {
        return bytes_.data() + segment.p_offset + (address - segment.p_vaddr);
      }
    }
    refuse(std::string("the module's ") + what + " lies outside its file");
  }

  /// The segment with all of `flags` that holds a range of memory, or nullptr.
  [[nodiscard]] const Elf64_Phdr* segment_of(std::uint64_t address, std::uint64_t size,
                                             std::uint32_t flags) const {
    for (const Elf64_Phdr& segment : segments_) {
      if ((segment.p_flags & flags) == flags && address >= segment.p_vaddr &&
          fits(address - segment.p_vaddr, size, segment.p_memsz)) {
        return &segment;
      }
    }
    return nullptr;
  }

  [[nodiscard]] Elf64_Sym symbol(std::uint64_t index) const {
    if (index >= symbol_count_) refuse("a relocation names a symbol that the module does not have");
    return read_at<Elf64_Sym>(symbol_table_ + index * sizeof(Elf64_Sym));
  }

  [[nodiscard]] const char* name_of(const Elf64_Sym& symbol) const {
    if (symbol.st_name >= dynamic_.strings_bytes) {
      refuse("a symbol's name lies outside the module's string table");
    }
    return string_table_ + symbol.st_name;  // the table's last byte is NUL
  }

 private:
  void read_headers();
  void add_segment(const Elf64_Phdr& header);
  void read_dynamic();
  void read_tag(const Elf64_Dyn& entry);

  std::span<const std::byte> bytes_;
  std::vector<Elf64_Phdr> segments_;
  std::optional<Elf64_Phdr> dynamic_header_, tls_, unwind_header_;
  Dynamic dynamic_;
  std::uint64_t symbol_count_ = 0;
  const std::byte* symbol_table_ = nullptr;
  const char* string_table_ = nullptr;
};

void Image::read_headers() {
  if (bytes_.size() < sizeof(Elf64_Ehdr)) refuse("the module is too short to be an ELF file");
  const auto header = read_at<Elf64_Ehdr>(bytes_.data());
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) refuse("the module is not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_ident[EI_VERSION] != EV_CURRENT || header.e_version != EV_CURRENT) {
    refuse("the module is not a 64-bit little-endian ELF file of version 1");
  }
  if (header.e_ident[EI_OSABI] != ELFOSABI_SYSV && header.e_ident[EI_OSABI] != ELFOSABI_GNU) {
    refuse("the module is for another operating system");
  }
  if (header.e_machine != kMachine) refuse("the module is for another processor");
  if (header.e_type != ET_DYN) refuse("the module is not a shared object");
  if (header.e_phentsize != sizeof(Elf64_Phdr)) {
    refuse("the module's program headers have an unknown size");
  }
  if (header.e_phnum == 0 || header.e_phnum > kMaxSegments ||
      !fits(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr), bytes_.size())) {
    refuse("the module's program headers lie outside the file or are too many");
  }

  const auto only = [](std::optional<Elf64_Phdr>& kept, const Elf64_Phdr& found) {
    if (kept) refuse("the module has two program headers of a kind that may appear once");
    kept = found;
  };
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const auto entry = read_at<Elf64_Phdr>(bytes_.data() + header.e_phoff + i * sizeof(Elf64_Phdr));
    switch (entry.p_type) {
      case PT_LOAD:
        add_segment(entry);
        break;
      case PT_DYNAMIC:
        only(dynamic_header_, entry);
        break;
      case PT_TLS:
        only(tls_, entry);
        break;
      case PT_GNU_EH_FRAME:
        only(unwind_header_, entry);
        break;
      case PT_GNU_STACK:
        if ((entry.p_flags & PF_X) != 0) refuse("the module asks for an executable stack");
        break;
      default:  // notes, and PT_GNU_RELRO: see protect()
        break;
    }
  }
  if (segments_.empty()) refuse("the module has no loadable segment");
  if (!dynamic_header_) refuse("the module has no dynamic section");

  if (tls_) {
    const bool aligned = tls_->p_align <= 1 || std::has_single_bit(tls_->p_align);
    if (!aligned || tls_->p_align > page_bytes() || tls_->p_memsz > kMaxBytes ||
        tls_->p_filesz > tls_->p_memsz) {
      refuse("the module's thread-local segment has an impossible size or alignment");
    }
    static_cast<void>(at(tls_->p_vaddr, tls_->p_filesz, "thread-local segment"));
  }
}

void Image::add_segment(const Elf64_Phdr& header) {
  if ((header.p_flags & PF_W) != 0 && (header.p_flags & PF_X) != 0) {
    refuse("the module has a segment that is writable and executable");
  }
  if (!fits(header.p_offset, header.p_filesz, bytes_.size())) {
    refuse("a segment of the module lies outside the file");
  }
  if (header.p_filesz > header.p_memsz) refuse("a segment of the module is larger than its memory");
  if (!fits(header.p_vaddr, header.p_memsz, kMaxBytes)) {
    refuse("the module needs more than 1 GiB of memory");
  }
  if (header.p_align > kMaxAlignment ||
      (header.p_align > 1 && !std::has_single_bit(header.p_align))) {
    refuse("a segment of the module has an impossible alignment");
  }
  if (header.p_memsz == 0) return;
  if (!segments_.empty() &&
      round_down(header.p_vaddr, page_bytes()) < round_up(span(), page_bytes())) {
    refuse("the module's segments overlap, share a page or are not in order");
  }
  segments_.push_back(header);
}

void Image::read_dynamic() {
  const std::byte* table =
      at(dynamic_header_->p_vaddr, dynamic_header_->p_filesz, "dynamic section");
  for (std::uint64_t offset = 0;; offset += sizeof(Elf64_Dyn)) {
    if (!fits(offset, sizeof(Elf64_Dyn), dynamic_header_->p_filesz)) {
      refuse("the module's dynamic section has no end");
    }
    const auto entry = read_at<Elf64_Dyn>(table + offset);
    if (entry.d_tag == DT_NULL) break;
    read_tag(entry);
  }

  if (dynamic_.strings == 0 || dynamic_.symbols == 0) {
    refuse("the module has no symbol table or no string table");
  }
  if (dynamic_.hash == 0) {
    refuse("the module has no DT_HASH table; link it with -Wl,--hash-style=both");
  }
  if (dynamic_.strings_bytes == 0) refuse("the module's string table is empty");
  string_table_ =
      reinterpret_cast<const char*>(at(dynamic_.strings, dynamic_.strings_bytes, "string table"));
  if (string_table_[dynamic_.strings_bytes - 1] != '\0') {
    refuse("the module's string table does not end with NUL");
  }
  // {buckets, symbols}: the one place that says how many symbols there are.
  const std::byte* hash = at(dynamic_.hash, 2 * sizeof(std::uint32_t), "hash table");
  symbol_count_ = read_at<std::uint32_t>(hash + sizeof(std::uint32_t));
  symbol_table_ = at(dynamic_.symbols, symbol_count_ * sizeof(Elf64_Sym), "symbol table");
}

void Image::read_tag(const Elf64_Dyn& entry) {
  const std::uint64_t value = entry.d_un.d_val;
  const auto expect = [value](std::uint64_t expected, const char* what) {
    if (value != expected) refuse(std::string("the module's ") + what + " have an unknown size");
  };
  switch (entry.d_tag) {
    case DT_HASH:
      dynamic_.hash = value;
      break;
    case DT_SYMTAB:
      dynamic_.symbols = value;
      break;
    case DT_STRTAB:
      dynamic_.strings = value;
      break;
    case DT_STRSZ:
      dynamic_.strings_bytes = value;
      break;
    case DT_SYMENT:
      expect(sizeof(Elf64_Sym), "symbols");
      break;
    case DT_RELA:
      dynamic_.rela = value;
      break;
    case DT_RELASZ:
      dynamic_.rela_bytes = value;
      break;
    case DT_RELAENT:
      expect(sizeof(Elf64_Rela), "relocations");
      break;
    case DT_JMPREL:
      dynamic_.plt_rela = value;
      break;
    case DT_PLTRELSZ:
      dynamic_.plt_rela_bytes = value;
      break;
    case kDtRelr:
      dynamic_.relr = value;
      break;
    case kDtRelrsz:
      dynamic_.relr_bytes = value;
      break;
    case kDtRelrent:
      expect(sizeof(std::uint64_t), "relative relocations");
      break;
    case DT_INIT:
      dynamic_.init = value;
      break;
    case DT_INIT_ARRAY:
      dynamic_.init_array = value;
      break;
    case DT_INIT_ARRAYSZ:
      dynamic_.init_array_bytes = value;
      break;
    case DT_PLTREL:
      if (value != DT_RELA) refuse("relocations without addends (DT_REL) are not supported");
      break;
    case DT_REL:
    case DT_RELSZ:
    case DT_RELENT:
      refuse("relocations without addends (DT_REL) are not supported");
    case DT_FLAGS:
      if ((value & DF_TEXTREL) != 0) refuse("relocations in code (DF_TEXTREL) are not supported");
      break;
    case DT_TEXTREL:
      refuse("relocations in code (DT_TEXTREL) are not supported");
    case DT_NEEDED:
      refuse("the module asks for other libraries (DT_NEEDED); link it with -nodefaultlibs");
    case DT_RPATH:
    case DT_RUNPATH:
      refuse("library search paths (DT_RPATH, DT_RUNPATH) are not supported");
    case DT_AUDIT:
    case DT_DEPAUDIT:
    case DT_CONFIG:
      refuse("audit libraries and configurations (DT_AUDIT, DT_CONFIG) are not supported");
    case DT_FILTER:
    case DT_AUXILIARY:
      refuse("filters (DT_FILTER, DT_AUXILIARY) are not supported");
    case DT_PREINIT_ARRAY:
    case DT_PREINIT_ARRAYSZ:
      refuse("DT_PREINIT_ARRAY is not supported in a shared object");
    default:  // hints, versions, destructors: a sealed process is stopped, it never unloads
      break;
  }
}

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
    std::uint64_t alignment = kGuardBytes;
    for (const Elf64_Phdr& segment : image_.segments()) {
      alignment = std::max<std::uint64_t>(alignment, segment.p_align);
    }
    const std::uint64_t image_bytes = round_up(image_.span(), kGuardBytes);
    std::uint64_t tls_bytes = 0;
    if (image_.tls()) {
      tls_bytes = round_up(image_.tls()->p_memsz + tls_misalignment(), kGuardBytes);
    }
    if (image_bytes + tls_bytes > kMaxBytes) refuse("the module needs more than 1 GiB of memory");

    const std::uint64_t total = image_bytes + tls_bytes + 3 * kGuardBytes + alignment;
    void* memory =
        mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) fail_memory(total);
    state_.reservation = static_cast<std::byte*>(memory);
    state_.reservation_bytes = total;

    const auto first = reinterpret_cast<std::uintptr_t>(memory);
    const std::uintptr_t aligned = (first + kGuardBytes + alignment - 1) / alignment * alignment;
    state_.base = state_.reservation + (aligned - first);
    if (tls_bytes != 0) {
      std::byte* pages = state_.base + image_bytes + kGuardBytes;
      set_access(pages, tls_bytes, PROT_READ | PROT_WRITE);
      state_.tls_storage = pages + tls_misalignment();
      state_.tls_image = state_.base + image_.tls()->p_vaddr;
      state_.tls_image_bytes = image_.tls()->p_filesz;
    }
  }

  void copy_segments() {
    for (const Elf64_Phdr& segment : image_.segments()) {
      const std::uint64_t start = round_down(segment.p_vaddr, page_bytes());
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
    if (count > kMaxConstructors) refuse("the module's table of constructors is too long");
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
    constexpr std::uint8_t kPcRelative32 = 0x1b;
    constexpr std::uint64_t kTableField = offsetof(Header, table);
    const std::uint64_t address = image_.unwind_header()->p_vaddr;
    const auto header = read_at<Header>(image_.at(address, sizeof(Header), "unwind header"));
    if (header.version != 1 || header.table_encoding != kPcRelative32) {
      refuse("the module's unwind header has an unknown version or encoding");
    }
    const std::uint64_t table =
        address + kTableField + static_cast<std::uint64_t>(std::int64_t{header.table});
    const Elf64_Phdr* segment = image_.segment_of(table, sizeof(std::uint32_t), PF_R);
    if (segment == nullptr) refuse("the module's unwind table lies outside its memory");
    // Past the segment, the rest of its last page is zeros, and is the module's as well.
    const std::uint64_t end = round_up(segment->p_vaddr + segment->p_memsz, page_bytes());

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
      const std::uint64_t start = round_down(segment.p_vaddr, page_bytes());
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
    if (state_.tls_storage == nullptr) {
      refuse("a relocation is thread-local, but the module has no thread-local segment");
    }
    if (index == 0) return 0;
    const Elf64_Sym symbol = image_.symbol(index);
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_TLS) {
      refuse("the thread-local variable " + printable(image_.name_of(symbol)) +
             " is not the module's own, which is not supported");
    }
    return symbol.st_value;
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
      case kNone:
        break;
      case kRelative:
        store(slot(entry.r_offset), base_address() + addend);
        break;
      case kAbsolute:
      case kGlobDat:
      case kJumpSlot:
        relocate_symbol(entry, index);
        break;
      case kIrelative:
        state_.indirects.push_back({slot(entry.r_offset), code(addend, "IFUNC resolver"), 0});
        break;
      case kTlsModule:
        static_cast<void>(tls_offset(index));  // refuses what is not the module's own
        store(slot(entry.r_offset), reinterpret_cast<std::uint64_t>(state_.tls_storage));
        break;
      case kTlsOffset:
        store(slot(entry.r_offset), tls_offset(index) + addend);
        break;
      case kTlsDescriptor: {
        std::byte* descriptor = slot(entry.r_offset, 16);
        store(descriptor, reinterpret_cast<std::uint64_t>(&ouroboros_tls_descriptor));
        store(descriptor + 8, reinterpret_cast<std::uint64_t>(state_.tls_storage) +
                                  tls_offset(index) + addend - thread_pointer());
        break;
      }
      case kTlsInitialExec:
        refuse(
            "initial-exec thread-local storage is not supported; leave out the tls_model "
            "attribute and -ftls-model");
      case kCopy:
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
