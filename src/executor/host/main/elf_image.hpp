#pragma once

#include <elf.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "executor/host/main/elf.hpp"

namespace ouroboros::host {

inline constexpr std::uint64_t module_guard_bytes =
    64 * 1024;  // a multiple of every page size in use
inline constexpr std::uint64_t max_module_bytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t max_alignment = std::uint64_t{2} << 20;
inline constexpr std::size_t max_segments = 64;
inline constexpr std::uint64_t max_constructors = 64 * 1024;

// Younger than the oldest <elf.h> that this is built with.
inline constexpr std::int64_t dt_relrsz = 35;
inline constexpr std::int64_t dt_relr = 36;
inline constexpr std::int64_t dt_relrent = 37;

[[noreturn]] inline void refuse(const std::string& sentence) { throw LoadError(sentence); }

/// A hostile name, made fit to stand in a sentence.
std::string printable(std::string_view name);

/// Whether [start, start + size) lies inside [0, limit). Nothing here can wrap around.
constexpr bool fits(std::uint64_t start, std::uint64_t size, std::uint64_t limit) {
  return size <= limit && start <= limit - size;
}

constexpr std::uint64_t round_down(std::uint64_t value, std::uint64_t unit) {
  return value / unit * unit;
}

inline std::uint64_t machine_page_bytes() { return static_cast<std::uint64_t>(getpagesize()); }

/// Only for values up to `max_module_bytes`, as every caller has checked.
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return round_down(value + unit - 1, unit);
}

template <typename T>
T read_at(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
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

}  // namespace ouroboros::host
