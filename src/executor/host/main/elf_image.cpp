#include "executor/host/main/elf_image.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace ouroboros::host {
namespace {

#if defined(__x86_64__)
constexpr std::uint16_t machine = EM_X86_64;
#else
constexpr std::uint16_t machine = EM_AARCH64;
#endif

}  // namespace

std::string printable(std::string_view name) {
  constexpr std::size_t longest = 200;
  std::string text(name.substr(0, longest));
  for (char& c : text) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  if (name.size() > longest) text += "...";
  return "'" + text + "'";
}

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
  if (header.e_machine != machine) refuse("the module is for another processor");
  if (header.e_type != ET_DYN) refuse("the module is not a shared object");
  if (header.e_phentsize != sizeof(Elf64_Phdr)) {
    refuse("the module's program headers have an unknown size");
  }
  if (header.e_phnum == 0 || header.e_phnum > max_segments ||
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
    if (!aligned || tls_->p_align > machine_page_bytes() || tls_->p_memsz > max_module_bytes ||
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
  if (!fits(header.p_vaddr, header.p_memsz, max_module_bytes)) {
    refuse("the module needs more than 1 GiB of memory");
  }
  if (header.p_align > max_alignment ||
      (header.p_align > 1 && !std::has_single_bit(header.p_align))) {
    refuse("a segment of the module has an impossible alignment");
  }
  if (header.p_memsz == 0) return;
  if (!segments_.empty() &&
      round_down(header.p_vaddr, machine_page_bytes()) < round_up(span(), machine_page_bytes())) {
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
    case dt_relr:
      dynamic_.relr = value;
      break;
    case dt_relrsz:
      dynamic_.relr_bytes = value;
      break;
    case dt_relrent:
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

}  // namespace ouroboros::host
