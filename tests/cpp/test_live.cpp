#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "catch.hpp"
#include "trace/live/cubin_names.hpp"

using ouroboros::live::kernel_names;

namespace {

// An ELF file of sections with these names and nothing in them, as a cubin's tables are laid out.
std::string file_with_sections(const std::vector<std::string>& names) {
  std::string strings(1, '\0');
  std::vector<Elf64_Shdr> sections(1);
  for (const std::string& name : names) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<Elf64_Word>(strings.size());
    sections.push_back(section);
    strings += name + '\0';
  }
  sections.front() = {};
  Elf64_Shdr table{};
  table.sh_offset = sizeof(Elf64_Ehdr);
  table.sh_size = strings.size();
  sections.push_back(table);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shoff = sizeof header + strings.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  header.e_shstrndx = static_cast<Elf64_Half>(sections.size() - 1);
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file += strings;
  file.append(reinterpret_cast<const char*>(sections.data()), sections.size() * sizeof(Elf64_Shdr));
  return file;
}

}  // namespace

TEST_CASE("Kernels of a cubin are its sections of code", "[live]") {
  const std::string file = file_with_sections(
      {".nv.info.first", ".text.first", ".text._Z6secondPf", ".nv.shared.first"});
  CHECK(kernel_names(file) == std::vector<std::string>{"first", "_Z6secondPf"});
}

TEST_CASE("Bytes that are no whole cubin have no kernels, and do no harm", "[live]") {
  const std::string file = file_with_sections({".text.first", ".text.second"});
  for (std::size_t size = 0; size < file.size(); ++size) {
    const std::string part = file.substr(0, size);
    CHECK(kernel_names(part).size() <= 2);
  }
  CHECK(kernel_names("no cubin").empty());

  std::string far = file;
  const Elf64_Off beyond = ~Elf64_Off{0} - 8;
  std::memcpy(far.data() + offsetof(Elf64_Ehdr, e_shoff), &beyond, sizeof beyond);
  CHECK(kernel_names(far).empty());
}

TEST_CASE("Kernels of cubins that NVIDIA's compiler made are found", "[live]") {
  for (const char* name : {"cuda13_sm_90.cubin", "cuda12_sm_90a.cubin"}) {
    std::ifstream file(std::string(OUROBOROS_SOURCE_DIR "/tests/data/cubin/") + name,
                       std::ios::binary);
    REQUIRE(file);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    const std::vector<std::string> names = kernel_names(bytes);
    CHECK(std::find(names.begin(), names.end(), "scale") != names.end());
  }
}
