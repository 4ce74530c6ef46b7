// What a hand-over costs: replays of a kernel that does nothing, against direct calls of the same
// module in this process.
//
//     handover MODULE.so [SAMPLES]
//
// MODULE.so exports run_float32(const float*, float*, int64_t). Prints JSON. Caller and callees are
// pinned to one processor, as in the referee.
#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "ouroboros/executor.hpp"

namespace {

constexpr std::int64_t elements = 64;
constexpr int warm_up = 200;

using Clock = std::chrono::steady_clock;
using Kernel = void (*)(const float*, float*, std::int64_t);

double microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

double quantile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(fraction * static_cast<double>(values.size() - 1))];
}

int pin_this_thread() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    throw std::runtime_error("the processors of this thread are not known");
  }
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed)) {
    ++cpu;
  }
  CPU_ZERO(&allowed);
  CPU_SET(cpu, &allowed);
  if (sched_setaffinity(0, sizeof allowed, &allowed) != 0) {
    throw std::runtime_error("this thread cannot be pinned");
  }
  return cpu;
}

ouroboros::ModuleImage read_module(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty()) {
    throw std::runtime_error(std::string(path) + " cannot be read");
  }
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {{first, first + text.size()}, ouroboros::sha256_hex(text.data(), text.size())};
}

/// Wall time of each of `samples` calls as this program sees it, clock included.
std::vector<double> wall_times(int samples, const std::function<void()>& call) {
  std::vector<double> times;
  for (int i = 0; i < warm_up + samples; ++i) {
    const auto start = Clock::now();
    call();
    const auto stop = Clock::now();
    if (i >= warm_up) {
      times.push_back(microseconds(stop - start));
    }
  }
  return times;
}

void print(const char* name, const std::vector<double>& wall, const std::vector<double>& processor,
           const char* after) {
  std::printf("  \"%s\": {\"wall_us\": {\"p5\": %.3f, \"median\": %.3f, \"p95\": %.3f}", name,
              quantile(wall, 0.05), quantile(wall, 0.5), quantile(wall, 0.95));
  if (!processor.empty()) {
    std::printf(", \"processor_us\": {\"p5\": %.3f, \"median\": %.3f, \"p95\": %.3f}",
                quantile(processor, 0.05), quantile(processor, 0.5), quantile(processor, 0.95));
  }
  std::printf("}%s\n", after);
}

void measure(const char* path, int samples) {
  using namespace ouroboros;
  const std::vector<Call> calls = {{"run_float32",
                                    {{"x", BufferRole::input, DType::float32, {elements}},
                                     {"out", BufferRole::output, DType::float32, {elements}}},
                                    {elements}}};
  const auto arena = std::make_shared<const Arena>(calls);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  auto* kernel =
      library == nullptr ? nullptr : reinterpret_cast<Kernel>(dlsym(library, "run_float32"));
  if (kernel == nullptr) {
    throw std::runtime_error(dlerror());
  }
  const auto* x = reinterpret_cast<const float*>(arena->view(0, 0, Placement::low).data());
  auto* out = reinterpret_cast<float*>(arena->view(0, 1, Placement::low).data());
  const auto call = [=] { kernel(x, out, elements); };

  const auto sealed = make_host_executor()->open({read_module(path), calls}, arena);
  const auto trusted = open_trusted({call});
  const int cpu = pin_this_thread();
  sealed->pin(cpu);
  trusted->pin(cpu);

  const auto replays = [samples](Session& session, std::vector<double>& processor) {
    return wall_times(samples, [&] {
      const auto replay = session.replay(0, Placement::low);
      if (replay.outcome != Outcome::returned) {
        throw std::runtime_error(replay.evidence);
      }
      processor.push_back(microseconds(replay.elapsed));
    });
  };
  std::vector<double> sealed_processor;
  std::vector<double> trusted_processor;
  const auto direct_wall = wall_times(samples, call);
  const auto sealed_wall = replays(*sealed, sealed_processor);
  const auto trusted_wall = replays(*trusted, trusted_processor);

  std::printf("{\n  \"samples\": %d,\n  \"elements\": %d,\n", samples, static_cast<int>(elements));
  std::printf("  \"isolation\": \"%s\",\n", sealed->isolation().level.c_str());
  print("direct", direct_wall, {}, ",");
  print("sealed", sealed_wall, sealed_processor, ",");
  print("trusted", trusted_wall, trusted_processor, ",");
  std::printf("  \"handover_us\": %.3f\n}\n",
              quantile(sealed_wall, 0.5) - quantile(direct_wall, 0.5));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s MODULE.so [SAMPLES]\n", argv[0]);
    return 2;
  }
  try {
    measure(argv[1], argc > 2 ? std::max(1, std::atoi(argv[2])) : 20000);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
