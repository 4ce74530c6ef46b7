#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "catch.hpp"
#include "launch_plans.hpp"
#include "ouroboros/error.hpp"
#include "ouroboros/launch_plan.hpp"

using namespace ouroboros;
using namespace ouroboros_test;

namespace {

const std::string folder = std::string(OUROBOROS_SOURCE_DIR) + "/tests/data/cubin/";

std::map<std::string, KernelResources> by_name(const std::vector<KernelResources>& kernels) {
  std::map<std::string, KernelResources> result;
  for (const KernelResources& kernel : kernels) result[kernel.function] = kernel;
  return result;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> fields_of(const KernelResources& kernel) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> fields;
  for (const ParameterField& field : kernel.parameters)
    fields.push_back({field.offset, field.size});
  return fields;
}

// Reads it whole; anything else than a refusal that the header promises fails the test.
bool is_read(std::span<const std::byte> bytes) {
  try {
    static_cast<void>(cubin_target(bytes));
    static_cast<void>(kernel_resources(bytes));
    static_cast<void>(module_memory(bytes));
    return true;
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    CHECK_THAT(error.what(), ContainsSubstring("The bytes are no cubin: "));
    return false;
  }
}

/// Where the table of symbols begins and ends.
std::pair<std::size_t, std::size_t> symbols_of(std::span<const std::byte> bytes) {
  const auto number = [&](std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, size);
    return value;
  };
  for (std::size_t i = 0; i < number(60, 2); ++i) {
    const std::size_t section = number(40, 8) + i * 64;
    if (number(section + 4, 4) == 2) {
      return {number(section + 24, 8), number(section + 24, 8) + number(section + 32, 8)};
    }
  }
  return {};
}

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  char part[4096];
  while (const std::size_t size = std::fread(part, 1, sizeof(part), pipe))
    output.append(part, size);
  INFO(output);
  REQUIRE(pclose(pipe) == 0);
  return output;
}

}  // namespace

TEST_CASE("the target of a cubin is read in both layouts") {
  CHECK(cubin_target(read_bytes(folder + "cuda13_sm_90.cubin")) == "sm_90");
  CHECK(cubin_target(read_bytes(folder + "cuda12_sm_90a.cubin")) == "sm_90a");
}

TEST_CASE("memory that outlives a launch is found in a cubin") {
  const auto globals = module_memory(read_bytes(folder + "globals.cubin"));
  CHECK_FALSE(globals.heap);
  REQUIRE(globals.globals.size() == 1);
  CHECK(globals.globals[0].bytes == 68);
  REQUIRE(globals.globals[0].symbols.size() == 2);
  CHECK(globals.globals[0].symbols[0].name == "counter");
  CHECK(globals.globals[0].symbols[0].offset == 0);
  CHECK(globals.globals[0].symbols[1].name == "table");
  CHECK(globals.globals[0].symbols[1].offset == 4);

  const auto constants = module_memory(read_bytes(folder + "constants.cubin"));
  REQUIRE(constants.globals.size() == 1);
  CHECK(constants.globals[0].bytes == 20);
  CHECK(constants.globals[0].symbols.size() == 2);

  const auto heap = module_memory(read_bytes(folder + "heap.cubin"));
  CHECK(heap.heap);
  CHECK(heap.globals.empty());

  // Shared memory is none, though its sections are writable as well.
  for (const char* name : {"cuda13_sm_90.cubin", "cuda12_sm_90a.cubin"}) {
    const auto none = module_memory(read_bytes(folder + name));
    CHECK_FALSE(none.heap);
    CHECK(none.globals.empty());
  }
}

TEST_CASE("a managed variable does not say where its section lies") {
  auto bytes = read_bytes(folder + "globals.cubin");
  const auto [begin, end] = symbols_of(bytes);
  for (std::size_t at = begin; at < end; at += 24) {
    if (bytes[at + 4] == std::byte{1}) {  // A local variable; the next byte is st_other.
      bytes[at + 5] |= std::byte{4};
      const auto memory = module_memory(bytes);
      REQUIRE(memory.globals.size() == 1);
      CHECK(memory.globals[0].symbols.empty());
      return;
    }
  }
  FAIL("no symbol of a variable was found");
}

TEST_CASE("the resources of kernels are those that ptxas reports") {
  const auto name = GENERATE("cuda13_sm_90.cubin", "cuda12_sm_90a.cubin");
  INFO(name);
  const auto kernels = by_name(kernel_resources(read_bytes(folder + name)));
  REQUIRE(kernels.size() == 5);

  const KernelResources& scale = kernels.at("scale");
  CHECK(scale.registers == 10);
  CHECK(scale.stack_bytes == 0);
  CHECK(scale.shared_bytes == 1024);
  CHECK(scale.parameter_bytes == 24);
  CHECK(fields_of(scale) ==
        std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 8}, {8, 8}, {16, 4}, {20, 4}});

  const KernelResources& mixed = kernels.at("mixed");
  CHECK(mixed.shared_bytes == 0);
  CHECK(fields_of(mixed) ==
        std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 8}, {8, 32}, {40, 1}, {48, 8}});

  const KernelResources& spills = kernels.at("spills");
  CHECK(spills.registers == 32);
  CHECK(spills.stack_bytes == 80);

  const KernelResources& large = kernels.at("large");
  CHECK(large.parameter_bytes == 8 + 4120 + 4);
  CHECK(fields_of(large) ==
        std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 8}, {8, 4120}, {4128, 4}});

  const KernelResources& nothing = kernels.at("nothing");
  CHECK(nothing.registers == 4);
  CHECK(nothing.parameter_bytes == 0);
  CHECK(nothing.parameters.empty());
}

TEST_CASE("bytes that are no cubin are refused") {
  CHECK(!is_read({}));
  CHECK(!is_read(read_bytes(folder + "kernels.cu")));
  CHECK(!is_read(read_bytes("/proc/self/exe")));
  CHECK(!is_read(std::vector<std::byte>(100'000)));
}

TEST_CASE("a cubin cut anywhere is refused or read, and never overrun") {
  const std::vector<std::byte> cubin = read_bytes(folder + "cuda13_sm_90.cubin");
  REQUIRE(is_read(cubin));
  for (std::size_t size = 0; size < cubin.size(); size += 1 + size / 300) {
    // A copy of its own, so that a sanitizer sees the end.
    const std::vector<std::byte> cut(cubin.begin(), cubin.begin() + static_cast<long>(size));
    static_cast<void>(is_read(cut));
  }
  CHECK(!is_read(std::span(cubin).first(1000)));
}

TEST_CASE("a damaged cubin is refused or read, and never overrun") {
  std::mt19937_64 random(7);
  for (const char* name : {"cuda13_sm_90.cubin", "cuda12_sm_90a.cubin"}) {
    const std::vector<std::byte> cubin = read_bytes(folder + name);
    std::size_t refused = 0;
    for (int i = 0; i < 2000; ++i) {
      std::vector<std::byte> damaged = cubin;
      for (int changes = 0; changes < 4; ++changes) {
        damaged[random() % damaged.size()] = std::byte(random() % 256);
      }
      // The headers are where damage hurts.
      damaged[random() % 64] = std::byte(random() % 256);
      if (!is_read(damaged)) ++refused;
    }
    CHECK(refused > 100);
  }
}

TEST_CASE("a cubin whose sections all lie on one another is refused before it takes long") {
  // 60,000 sections that name the same megabyte.
  constexpr std::size_t count = 60'000;
  std::vector<std::byte> file = read_bytes(folder + "cuda13_sm_90.cubin");
  file.resize(64);
  const std::uint64_t names_at = 64;
  std::string names(1, '\0');
  names += ".symtab" + std::string(8000, 'x') + '\0';
  names.resize(1 << 20, 'y');
  const auto bytes = std::as_bytes(std::span(names));
  file.insert(file.end(), bytes.begin(), bytes.end());
  const std::uint64_t headers_at = file.size();
  file.resize(file.size() + count * 64);
  const auto write = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    std::memcpy(file.data() + at, &value, size);
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = headers_at + 64 * i;
    write(at, 1 + i % 8000, 4);
    write(at + 4, 3, 4);
    write(at + 24, names_at, 8);
    write(at + 32, names.size(), 8);
  }
  write(40, headers_at, 8);
  write(60, count, 2);
  write(62, 1, 2);
  CHECK_THROWS_WITH(kernel_resources(file), ContainsSubstring("sections overlap"));
}

TEST_CASE("the reader agrees with the CUDA toolkit on every architecture", "[slow]") {
  if (std::system("nvcc --version >/dev/null 2>&1") != 0) {
    WARN("skipped: no nvcc on this machine");
    return;
  }
  const std::filesystem::path cubin = std::filesystem::temp_directory_path() /
                                      ("ouroboros_" + std::to_string(std::random_device{}()));
  for (const std::string target : {"sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120"}) {
    const std::string log = output_of("nvcc -cubin -Xptxas -v -arch=" + target + " -o '" +
                                      cubin.string() + "' '" + folder + "kernels.cu'");
    const std::vector<std::byte> bytes = read_bytes(cubin);
    std::filesystem::remove(cubin);
    INFO(target << "\n" << log);
    CHECK(cubin_target(bytes) == target);
    const auto kernels = by_name(kernel_resources(bytes));
    const std::regex entry(
        "entry function '(\\w+)'[^]*?(\\d+) bytes stack frame[^]*?Used (\\d+) registers([^\\n]*)");
    std::size_t reported = 0;
    for (std::sregex_iterator match(log.begin(), log.end(), entry), end; match != end; ++match) {
      ++reported;
      INFO(match->str(1));
      const KernelResources& kernel = kernels.at(match->str(1));
      CHECK(kernel.stack_bytes == std::stoull(match->str(2)));
      CHECK(kernel.registers == std::stoul(match->str(3)));
      std::smatch shared;
      const std::string rest = match->str(4);
      const bool has_shared = std::regex_search(rest, shared, std::regex("(\\d+) bytes smem"));
      CHECK(kernel.shared_bytes == (has_shared ? std::stoull(shared[1]) : 0));
    }
    CHECK(reported == 5);
    CHECK(kernels.size() == 5);
  }
}
