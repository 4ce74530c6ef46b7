#include "launch_plans.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "ouroboros/error.hpp"
#include "ouroboros/plan.hpp"

namespace ouroboros_test {

using namespace ouroboros;

namespace {

constexpr std::size_t header_bytes = 56;

PlanImage image(std::vector<std::byte> bytes) {
  std::string hash = sha256_hex(bytes.data(), bytes.size());
  return {std::move(bytes), std::move(hash)};
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::uint64_t read_integer(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= std::to_integer<std::uint64_t>(bytes[at + i]) << (8 * i);
  }
  return value;
}

}  // namespace

LaunchPlan full_plan() {
  LaunchPlan plan;
  plan.origin = PlanOrigin::live_trace;
  plan.language = "triton";
  plan.target = "sm_90";
  plan.variant = "BLOCK=64 num_warps=4";
  plan.images = {image(bytes_of("no cubin")), image(bytes_of("sixteen bytes..."))};
  plan.buffers = {
      {"x", PlanRole::input, 8192, DType::float16, {64, 64}, {64, 1}, {}},
      {"rows", PlanRole::input, 8, DType::int64, {}, {}, {}},
      {"out", PlanRole::output, 8192, DType::bfloat16, {64, 64}, {64, 1}, {}},
      {"scratch0", PlanRole::scratch, 256, {}, {}, {}, {}},
      {"state0", PlanRole::state, 16, {}, {}, {}, 1},
  };
  plan.modules = {{ModuleOrigin::candidate, 0}, {ModuleOrigin::library, 0}};
  KernelLaunch kernel;
  kernel.function = "softmax";
  kernel.grid = {64, 2, 1};
  kernel.block = {128, 1, 1};
  kernel.cluster = {2, 1, 1};
  kernel.shared_bytes = 4096;
  kernel.cooperative = true;
  kernel.parameters.resize(196);
  kernel.parameters[16] = std::byte{64};
  kernel.fields = {{0, 8}, {8, 8}, {16, 4}, {64, 128}, {192, 4}};
  kernel.pointers = {{0, {0, 0}}, {8, {2, 8192}}};
  kernel.tensor_maps = {{64, {0, 128}, 6, {64, 63}, {128}, {64, 32}, {1, 1}, 0, 3, 2, 1}};
  plan.launches = {MemsetLaunch{{2, 0}, 7, 4, 2048}, kernel, CopyLaunch{{3, 16}, {4, 8}, 8}};
  return plan;
}

LaunchPlan random_plan(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(0, most - 1)(random);
  };
  const auto below32 = [&](std::uint32_t most) { return static_cast<std::uint32_t>(below(most)); };
  LaunchPlan plan;
  plan.origin = static_cast<PlanOrigin>(below(3));
  plan.language = std::array{"triton", "python", "cuda", "ptx"}[below(4)];
  plan.target = std::array{"sm_80", "sm_90a", "sm_100f", "sm_120"}[below(4)];
  plan.variant = std::string(below(40), static_cast<char>(' ' + below(95)));

  const auto add_image = [&](std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes) byte = std::byte(below(256));
    plan.images.push_back(image(std::move(bytes)));
    return static_cast<std::uint32_t>(plan.images.size() - 1);
  };
  const std::uint32_t modules = 1 + below32(3);
  for (std::uint32_t i = 0; i < modules; ++i) {
    plan.modules.push_back({static_cast<ModuleOrigin>(below(2)), add_image(below(100))});
  }
  for (int rank = 0; rank < 3; ++rank) {
    for (std::uint64_t count = 1 + below(3); count > 0; --count) {
      PlanBuffer buffer;
      buffer.name = std::string(1 + below(10), static_cast<char>('!' + below(94)));
      buffer.role = rank < 2 ? static_cast<PlanRole>(rank)
                             : (below(2) == 0 ? PlanRole::scratch : PlanRole::state);
      buffer.bytes = 1 + below(1000);
      if (buffer.role == PlanRole::state) buffer.image = add_image(buffer.bytes);
      if (rank < 2) {
        buffer.dtype = static_cast<DType>(below(6));
        std::int64_t elements = 1;
        for (std::uint64_t dimension = below(5); dimension > 0; --dimension) {
          buffer.shape.insert(buffer.shape.begin(), static_cast<std::int64_t>(1 + below(6)));
          buffer.strides.insert(buffer.strides.begin(), elements);
          elements *= buffer.shape.front();
        }
        buffer.bytes = static_cast<std::uint64_t>(elements) * size_of(buffer.dtype);
      }
      plan.buffers.push_back(buffer);
    }
  }
  const auto target = [&] {
    const std::uint32_t buffer = below32(static_cast<std::uint32_t>(plan.buffers.size()));
    return BufferOffset{buffer, below(plan.buffers[buffer].bytes + 1)};
  };
  for (std::uint64_t count = below(6); count > 0; --count) {
    const BufferOffset place = target();
    const std::uint64_t left = plan.buffers[place.buffer].bytes - place.offset;
    if (left > 0 && below(3) == 0) {
      plan.launches.emplace_back(MemsetLaunch{place, below32(256), 1, 1 + below(left)});
      continue;
    }
    KernelLaunch kernel;
    kernel.module = below32(modules);
    kernel.function = std::string(1 + below(80), static_cast<char>('a' + below(26)));
    for (std::uint32_t& size : kernel.grid) size = 1 + below32(~0u);
    for (std::uint32_t& size : kernel.block) size = 1 + below32(64);
    for (std::uint32_t& size : kernel.cluster) size = 1 + below32(2);
    kernel.shared_bytes = below32(1u << 18);
    kernel.cooperative = below(2) == 0;
    std::uint32_t end = 0;
    for (std::uint64_t field = below(8); field > 0; --field) {
      if (below(3) == 0) {
        const std::uint32_t at = (end + 63) / 64 * 64;
        BufferOffset base = target();
        base.offset = base.offset / 16 * 16;
        kernel.fields.push_back({at, 128});
        kernel.tensor_maps.push_back({at,
                                      base,
                                      below32(16),
                                      {1 + below(9)},
                                      {},
                                      {1},
                                      {1},
                                      below32(3),
                                      below32(7),
                                      below32(4),
                                      below32(2)});
        end = at + 128;
      } else {
        const std::uint32_t at = (end + 7) / 8 * 8;
        const std::uint32_t size = 1 + below32(12);
        kernel.fields.push_back({at, size});
        if (size >= 8 && below(4) != 0) kernel.pointers.push_back({at, target()});
        end = at + size;
      }
    }
    kernel.parameters.resize(end + below(4));
    plan.launches.emplace_back(std::move(kernel));
  }
  return plan;
}

std::vector<std::byte> seal(std::string_view document, std::span<const std::byte> images) {
  // Copied, not inserted at the end: GCC 12 sees an overflow there that is none.
  std::vector<std::byte> file(header_bytes + document.size() + images.size());
  const auto text = std::as_bytes(std::span(document));
  const auto end = file.begin() + static_cast<std::ptrdiff_t>(header_bytes);
  std::copy(images.begin(), images.end(), std::copy(text.begin(), text.end(), end));
  std::memcpy(file.data(), "OUROPLAN\1\0\0\0", 12);
  const auto write = [&](std::size_t at, std::size_t size, std::uint64_t value) {
    for (std::size_t i = 0; i < size; ++i) file[at + i] = std::byte(value >> (8 * i) & 0xFF);
  };
  write(12, 4, document.size());
  write(16, 8, images.size());
  const std::string hex = sha256_hex(file.data() + header_bytes, file.size() - header_bytes);
  for (std::size_t i = 0; i < 32; ++i) {
    file[24 + i] = std::byte(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
  }
  return file;
}

nlohmann::ordered_json document_of(std::span<const std::byte> file) {
  const auto text = file.subspan(header_bytes, read_integer(file, 12, 4));
  return nlohmann::ordered_json::parse(
      std::string_view(reinterpret_cast<const char*>(text.data()), text.size()));
}

std::vector<std::byte> images_of(std::span<const std::byte> file) {
  const auto images = file.subspan(header_bytes + read_integer(file, 12, 4));
  return {images.begin(), images.end()};
}

std::string refusal(std::span<const std::byte> file) {
  try {
    static_cast<void>(LaunchPlan::parse(file));
  } catch (const Error& error) {
    return error.code() == ErrorCode::invalid_argument ? error.what() : "another code";
  }
  return "accepted";
}

std::vector<std::byte> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return bytes_of(text);
}

}  // namespace ouroboros_test
