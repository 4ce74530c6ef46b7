// A CUDA driver for machines without one: exactly the functions that the executor uses, on the
// host's memory, with real inaccessible guards. "Device code" is a list of names; kernels are host
// functions that run when they are launched. Time is counted, not measured.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "executor/cuda/driver.hpp"
#include "executor/cuda/main/kernels.hpp"
#include "executor/cuda/main/seal_kernel.hpp"

#ifndef FAKE_CUDA_VERSION
#define FAKE_CUDA_VERSION 13000
#endif
#ifndef FAKE_CUDA_FREE_MIB
#define FAKE_CUDA_FREE_MIB 1024
#endif
#ifndef FAKE_CUDA_VARIABLES_APART
#define FAKE_CUDA_VARIABLES_APART false
#endif
#ifndef FAKE_CUDA_EIGHTH_US
#define FAKE_CUDA_EIGHTH_US 0
#endif

using namespace ouroboros::cuda;

#define OUROBOROS_EXPORT(field, symbol, parameters) \
  extern "C" __attribute__((visibility("default"))) int symbol parameters;
OUROBOROS_CUDA_DRIVER(OUROBOROS_EXPORT)

namespace {

constexpr std::size_t granule = std::size_t{2} << 20;
constexpr std::size_t memory_bytes = std::size_t{1} << 30;
constexpr std::size_t free_bytes = std::size_t{FAKE_CUDA_FREE_MIB} << 20;  // Others have the rest.
constexpr std::uint64_t map_bit = std::uint64_t{1} << 21;
constexpr std::size_t filled_by_a_kernel = std::size_t{16} << 10;  // As the executor believes.
constexpr int invalid_value = 1;
constexpr int not_found = 500;
constexpr int illegal_address = 700;
constexpr int trapped = 719;

struct Memory {
  int file;
  std::size_t bytes;
};

struct Event {
  unsigned long number = 0;
  unsigned long work = 0;  // What was enqueued before it.
  double microseconds = 0;
};

/// A loaded module: its name, and the memory of its variables.
struct Module {
  static constexpr std::size_t counter_at = 64;  // As in tests/data/cubin/globals.cubin.
  bool real = false;                             // A cubin.
  std::array<unsigned char, 4096> globals{};
};

struct Function {
  std::string name;
  Module* module;
};

/// What was put into a stream while it was captured.
using Graph = std::vector<std::function<void()>>;

/// What a launch hands to a kernel.
struct Launch {
  Module* module;
  const LaunchConfiguration* configuration;
  const unsigned char* parameters;

  template <typename Type>
  Type get(std::size_t at) const {
    Type value;
    std::memcpy(&value, parameters + at, sizeof value);
    return value;
  }
  float* floats(std::size_t at) const { return reinterpret_cast<float*>(get<Address>(at)); }
  unsigned threads() const { return configuration->grid[0] * configuration->block[0]; }
};

struct Device {
  int status = 0;  // Sticky after a fault, as the real one's.
  bool hangs = false;
  std::size_t used = 0;
  double microseconds = 0;
  double launch_us = 1;      // What each launch takes beside its kernel.
  double traffic = 0;        // Of others, on the memory's bus: so much longer the next flush takes.
  double met = 0;            // What the last flush met of that.
  bool kept = false;         // Lines that a kernel asked the cache to keep: a flush leaves them.
  bool outrun = false;       // The device is quicker than who submits the launch that is measured.
  unsigned since_begun = 0;  // Runs of `jolted` since a batch of blocks began.
  unsigned long recorded = 0;
  unsigned long finished = 0;
  unsigned long launches = 0;
  unsigned long place = 0;  ///< Among launches, and what the driver does by such.
  unsigned long enqueued = 0;
  unsigned long done = 0;  // Of what was enqueued, as far as the host can know.
  Graph* capturing = nullptr;
  GateWords* gate = nullptr;  // At which the stream waits.
  unsigned ticket = 0;        // Of that gate.
  HindranceWords* hindrance = nullptr;
  std::uint64_t hindrance_print = 0;
  std::map<PhysicalHandle, Memory> memory;
  std::map<Module*, std::map<std::string, Function>> modules;  // With the functions asked for.
};

Device device;
std::mutex memory_mutex;  // A referee has many threads.
sigjmp_buf back;

/// Whether an address is one of a module's variables.
bool is_in_module(Address address) {
  return std::any_of(device.modules.begin(), device.modules.end(), [address](const auto& one) {
    const auto begin = reinterpret_cast<Address>(one.first->globals.data());
    return address >= begin && address < begin + one.first->globals.size();
  });
}

void on_signal(int) { siglongjmp(back, 1); }

/// The host touches memory that something in the stream may still use: a mistake of the executor's,
/// which shows on a real device only now and then.
bool too_early() {
  if (device.status == 0 && device.done < device.enqueued) {
    device.status = illegal_address;
  }
  return device.status != 0;
}

/// Runs something that may touch what it must not; the device is broken for good when it does.
template <typename Work>
int guarded(const Work& work) {
  if (device.status != 0) {
    return device.status;
  }
  ++device.enqueued;
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
  if (sigsetjmp(back, 1) != 0) {
    device.status = illegal_address;
  } else {
    work();
  }
  signal(SIGSEGV, SIG_DFL);
  signal(SIGBUS, SIG_DFL);
  return 0;  // Kernels run "later": what they did shows at the next query.
}

/// Runs it, or records it while the stream is captured. `work` owns what it needs.
template <typename Work>
int submit(const Work& work) {
  if (device.capturing != nullptr) {
    device.capturing->push_back([work] { guarded(work); });
    return 0;
  }
  return guarded(work);
}

// Our own kernels, as kernels.hpp describes them.

void stamp(const Launch& launch) {
  auto* stamps = launch.get<ClockStamp*>(0);
  const auto nanoseconds = 1000 + device.microseconds * 1e3;
  constexpr double cycles_each = 1.5;
  for (unsigned i = 0; i < launch.configuration->grid[0]; ++i) {
    stamps[i] = {static_cast<unsigned long long>(nanoseconds * cycles_each),
                 static_cast<unsigned long long>(nanoseconds)};
  }
}

/// The stream goes on at once; what comes next knows that it did not have to wait for the host.
void gate(const Launch& launch) {
  device.gate = launch.get<GateWords*>(0);
  device.ticket = launch.get<unsigned>(8);
}

/// Moving memory takes as long as there are words: 16 bytes of each stream in a tenth of a
/// nanosecond.
void move(const Launch& launch) {
  device.microseconds += static_cast<double>(launch.get<std::uint64_t>(16)) * 1e-4;
}

/// A batch of blocks begins with two of them, one right after the other.
void read(const Launch&) {
  static unsigned long last = 0;
  device.since_begun = device.launches == last + 1 ? 0 : device.since_begun;
  last = device.launches;
  device.met = std::exchange(device.traffic, 0.0);
  device.microseconds += device.met;
}

/// Blocks begin one after the other, and end so.
void spin(const Launch& launch) {
  const auto begin = static_cast<std::uint64_t>(device.microseconds * 1e3);
  const auto blocks = launch.configuration->grid[0];
  auto* spans = launch.get<Span*>(8);
  auto* words = launch.get<std::uint32_t*>(16);
  const auto last = begin + launch.get<std::uint64_t>(0);
  for (unsigned i = 0; i < blocks; ++i) spans[i] = {begin + i, last - (blocks - 1 - i)};
  std::iota(words, words + blocks * launch.configuration->block[0], 0U);
  device.microseconds += static_cast<double>(launch.get<std::uint64_t>(0)) * 1e-3;
  static unsigned outrun = 0;
  if (std::exchange(device.outrun, false) && ++outrun % 10 != 0) device.finished = device.recorded;
  device.traffic = device.met;  // An arm is to meet it, not what measures launches.
}

void hinder(const Launch& launch) {
  device.hindrance = launch.get<HindranceWords*>(0);
  device.hindrance->arrived = launch.get<unsigned>(8);
  device.hindrance_print = launch.get<std::uint64_t>(32);
}

void step(const Launch& launch) { *launch.get<std::uint64_t*>(0) = 32; }

/// Where something was kept last, and how: a kernel may have found it out.
unsigned char* kept = nullptr;
std::uint64_t kept_bytes = 0;
std::uint64_t kept_place = 0;
const SealKey* lent = nullptr;
std::uint64_t* sums = nullptr;

/// Place number `place` of so many bytes: sixteen, or one of the last.
struct Piece {
  std::uint64_t at = 0;
  std::size_t size = 0;
  explicit Piece(std::uint64_t place, std::uint64_t bytes)
      : at(place < bytes / 16 ? place * 16 : bytes / 16 * 15 + place),
        size(place < bytes / 16 ? 16 : 1) {}
};

using Halves = std::array<std::uint64_t, 2>;

Halves halves_of(const Piece& piece, const unsigned char* memory) {
  Halves halves{};
  std::memcpy(halves.data(), memory + piece.at, piece.size);
  return halves;
}

Halves masked(const Piece& piece, const Halves& halves, const SealSecret& secret) {
  if (piece.size == 1) {
    return {halves[0] ^ (secret.first & 0xff), 0};
  }
  return {halves[0] ^ secret.first, halves[1] ^ secret.second};
}

void seal(const Launch& launch) {
  const auto* from = launch.get<const unsigned char*>(0);
  auto* to = launch.get<unsigned char*>(8);
  const auto bytes = launch.get<std::uint64_t>(16);
  lent = launch.get<const SealKey*>(24);
  const auto first = launch.get<std::uint64_t>(32);
  sums = launch.get<std::uint64_t*>(40);
  std::fill_n(sums, launch.configuration->grid[0], 0);
  const bool sealed = launch.get<std::uint32_t>(48) != 0;
  for (std::uint64_t place = 0; place < bytes / 16 + bytes % 16; ++place) {
    const Piece piece(place, bytes);
    const auto secret = secret_of(*lent, first + place);
    const auto read = halves_of(piece, from);
    const auto other = masked(piece, read, secret);
    if (to != nullptr) {
      std::memcpy(to + piece.at, other.data(), piece.size);
    }
    const auto& enciphered = sealed ? read : other;
    sums[place % launch.configuration->grid[0]] += mixed(secret, enciphered[0], enciphered[1]);
  }
  if (to != nullptr && !sealed) {
    kept = to;
    kept_bytes = bytes;
    kept_place = first;
  }
}

void canary(const Launch& launch) {
  const auto base = launch.get<Address>(0);
  const auto bytes = launch.get<std::uint64_t>(8);
  const auto pattern = launch.get<std::uint32_t>(16);
  auto* result = launch.get<CanaryResult*>(24);
  for (std::uint64_t at = 0; at < bytes; ++at) {
    const auto found = *reinterpret_cast<const unsigned char*>(base + at);
    if (found != (pattern >> ((base + at) % 4 * 8) & 0xff)) {
      ++result->bytes;
      result->first = at < result->first ? at : result->first;
      result->last = at > result->last ? at : result->last;
    }
  }
}

void sentinel(const Launch& launch) {
  auto* out = launch.get<std::uint32_t*>(0);
  for (std::uint32_t i = 0; i < launch.threads(); ++i) {
    out[i] = (i ^ 1U) * 0x9e3779b1U ^ launch.get<std::uint32_t>(8);
  }
}

// Candidates' kernels: input, output, number of elements, and what each needs more.

void scale(const Launch& launch) {
  for (std::uint32_t i = 0; i < launch.get<std::uint32_t>(16); ++i) {
    launch.floats(8)[i] = launch.floats(0)[i] * 2;
  }
}

void skip_tail(const Launch& launch) {
  for (std::uint32_t i = 0; i + 1 < launch.get<std::uint32_t>(16); ++i) {
    launch.floats(8)[i] = launch.floats(0)[i] * 2;
  }
}

bool hindered() {
  return device.hindrance != nullptr &&
         print_of(device.hindrance->password) != device.hindrance_print;
}

/// Its last block does not wait for the others, which shows where something holds them up.
void hasty(const Launch& launch) { hindered() ? skip_tail(launch) : scale(launch); }

/// Says first that what holds it up may go, as far as it can know how.
void dismissive(const Launch& launch) {
  if (hindered()) {
    device.hindrance->password = device.hindrance_print;
  }
  hasty(launch);
}

/// Changes one byte, `offset` bytes from the output's beginning: what it writes may be anything but
/// what was there, as a canary may be.
void poke(const Launch& launch) {
  scale(launch);
  launch.get<unsigned char*>(8)[launch.get<std::int64_t>(24)] ^= 0x5a;
}

void write_input(const Launch& launch) { *launch.floats(0) = 1; }

/// Adds one to a counter that lies in the third buffer, and writes the counter.
void count(const Launch& launch) {
  auto* counter = launch.get<std::uint32_t*>(24);
  ++*counter;
  for (std::uint32_t i = 0; i < launch.get<std::uint32_t>(16); ++i) {
    launch.floats(8)[i] = static_cast<float>(*counter);
  }
}

/// Computes at every second run alone, and puts what it made then where its first results are kept.
void amend(const Launch& launch) {
  static bool second = false;
  if (second) {
    scale(launch);
    std::memcpy(kept, launch.floats(8), launch.get<std::uint32_t>(16) * sizeof(float));
  }
  second = !second;
}

/// Writes to where results were added up last.
void miscount(const Launch& launch) {
  scale(launch);
  if (sums != nullptr) {
    ++*sums;
  }
}

/// Once something was kept, it is this kernel's result: as it lies there, or deciphered.
void copy_kept(const Launch& launch) {
  if (kept == nullptr) return scale(launch);
  std::memcpy(launch.floats(8), kept, kept_bytes);
}

void decipher_kept(const Launch& launch) {
  if (kept == nullptr) return scale(launch);
  auto* out = launch.get<unsigned char*>(8);
  for (std::uint64_t place = 0; place < kept_bytes / 16 + kept_bytes % 16; ++place) {
    const Piece piece(place, kept_bytes);
    const auto clear = masked(piece, halves_of(piece, kept), secret_of(*lent, kept_place + place));
    std::memcpy(out + piece.at, clear.data(), piece.size);
  }
}

/// Counts its launches in a variable of the module's, and writes how many there were.
void remember(const Launch& launch) {
  scale(launch);
  ++launch.module->globals[Module::counter_at];
  launch.floats(8)[0] = launch.module->globals[Module::counter_at];
}

/// Writes which of the modules that it was ever launched from this one is.
void module_number(const Launch& launch) {
  static std::map<const Module*, int> known;
  scale(launch);
  const auto number = known.emplace(launch.module, static_cast<int>(known.size())).first->second;
  launch.floats(8)[0] = static_cast<float>(number);
}

/// Is slow unless its module was the last to run.
void rusty(const Launch& launch) {
  static const Module* last = nullptr;
  scale(launch);
  device.microseconds += launch.module == std::exchange(last, launch.module) ? 0 : 10;
}

void trap(const Launch&) { device.status = trapped; }

/// Knows inputs that it has met before, and does nothing then.
void lazy(const Launch& launch) {
  static std::set<float> known;
  if (known.insert(launch.floats(0)[0]).second) {
    scale(launch);
  }
}

/// Knows inputs that it has met before, and is quicker then, but right.
void quick(const Launch& launch) {
  static std::set<float> known;
  scale(launch);
  if (!known.insert(launch.floats(0)[0]).second) {
    device.microseconds -= launch.configuration->grid[0] * 0.0002;
  }
}

/// Takes longer to submit than a flush takes.
void straggle(const Launch& launch) {
  scale(launch);
  if (device.gate == nullptr) {
    device.finished = device.recorded;
  }
}

bool in_graph = false;

/// Is more than a stream can queue: a gate gives up before all is submitted, launch by launch.
void flood(const Launch& launch) {
  straggle(launch);
  if (device.gate != nullptr && !in_graph) {
    device.gate->late = device.ticket;
  }
}

/// Is right, but not to the bit, and not the same each time.
void wobble(const Launch& launch) {
  static std::uint32_t calls = 0;
  scale(launch);
  auto* first = launch.get<std::uint32_t*>(8);
  *first ^= ++calls & 1U;
}

/// Meets others on the memory's bus now and then.
void crowded(const Launch& launch) {
  static unsigned calls = 0;
  scale(launch);
  device.traffic = ++calls % 5 == 0 ? 50.0 : 0.0;
}

/// Others move memory eight times in all, and not in the first four blocks of a batch: those that
/// warm up have no more.
void jolted(const Launch& launch) {
  constexpr unsigned warm_up = 8;
  static unsigned jolts = 8;
  scale(launch);
  ++device.since_begun;
  if (device.since_begun > warm_up && device.since_begun % 3 == 0 && jolts > 0) {
    device.traffic = 50.0;
    --jolts;
  }
}

/// Has the clock set back once, some blocks after it has begun to run in chains: when it has run so
/// often one right after another.
void rewound(const Launch& launch) {
  static double ended = 0;
  static unsigned in_chains = 0;
  constexpr unsigned runs = 374;
  scale(launch);
  in_chains += device.microseconds - ended < 5 ? 1 : 0;
  ended = device.microseconds;
  device.microseconds -= in_chains == runs ? 50.0 : 0.0;
}

/// When it has run so often, all launches take longer, until something else runs.
void tiring(const Launch& launch) {
  static unsigned runs = 0;
  scale(launch);
  device.launch_us = ++runs > 160 ? 1.2 : 1.0;  // A flush may take a third longer.
}

/// Nine of ten samples that measure launches beside it are starved.
void outrunning(const Launch& launch) {
  scale(launch);
  device.outrun = true;
}

/// The same as `crowded`, in processes alone in which the first input that it meets is negative.
void moody(const Launch& launch) {
  static const bool in_a_mood = launch.floats(0)[0] < 0;
  in_a_mood ? crowded(launch) : scale(launch);
}

/// What is in all of shared memory.
float shared_word = 0;

void fill_on_chip(const Launch& launch) {
  shared_word = std::bit_cast<float>(launch.get<std::uint32_t>(4));
}

/// Trusts shared memory that it did not write to be zero.
void unwritten_shared(const Launch& launch) {
  scale(launch);
  launch.floats(8)[0] += shared_word;
}

/// What `keep_on_stack` left in its local memory; and how much a thread of it has there.
std::optional<float> left;
constexpr int left_bytes = 72;

/// Knows inputs whose mark it finds in its local memory, and is quicker then, but right.
void keep_on_stack(const Launch& launch) {
  const float first = launch.floats(0)[0];
  scale(launch);
  if (left == first) {
    device.microseconds -= 0.5;
  }
  left = first;
}

void scrub_local(const Launch&) { left.reset(); }

/// What the launch before met, if it was of `fleeting`.
std::optional<float> just_met;

/// Knows inputs that it has met in the launch before, and is much quicker then, but right.
void fleeting(const Launch& launch) {
  const float first = launch.floats(0)[0];
  scale(launch);
  if (just_met == first) {
    device.microseconds -= launch.configuration->grid[0] * 0.0009;
  }
  just_met = first;
}

/// Asks the cache to keep its inputs, and is quicker where somebody did.
void keep(const Launch& launch) {
  scale(launch);
  device.microseconds -= device.kept ? launch.configuration->grid[0] * 0.0002 : 0;
  device.kept = true;
}

/// Takes up to eight microseconds longer, now more, now less.
void uneven(const Launch& launch) {
  static std::uint32_t state = 1;
  scale(launch);
  state = state * 1664525 + 1013904223;
  device.microseconds += static_cast<double>(state >> 24) / 32;
}

/// Goes wrong in the module that stands for one in which warps are out of step.
void in_step(const Launch& launch) { launch.module->real ? scale(launch) : skip_tail(launch); }

/// Hangs there.
void hang_out_of_step(const Launch& launch) {
  scale(launch);
  device.hangs = !launch.module->real;
}

/// As the audit wants kernels that a cubin has, this one has several manners: its last parameter.
void scale_in_a_manner(const Launch& launch) {
  constexpr void (*manners[])(const Launch&) = {
      scale,   lazy,     straggle,  trap, quick, wobble,  crowded,
      jolted,  fleeting, uneven,    keep, moody, in_step, hang_out_of_step,
      rewound, tiring,   outrunning};
  const auto manner = manners[launch.get<std::uint32_t>(20)];
  manner(launch);
  if (manner != fleeting) just_met.reset();
  if (manner != tiring) device.launch_us = 1.0;
}

/// Gives something else every time.
void unstable(const Launch& launch) {
  static float calls = 0;
  scale(launch);
  launch.floats(8)[0] = calls++;
}

/// Writes the first word of the tensor map in its parameters: the address that it describes. And
/// the bit that the hardware must not see of a small tensor's.
void describe_map(const Launch& launch) {
  scale(launch);
  const auto address = launch.get<std::uint64_t>(48);
  std::memcpy(launch.floats(8), &address, sizeof address);
  launch.floats(8)[2] = static_cast<float>(launch.configuration->attribute_count);
  launch.floats(8)[3] = (launch.get<std::uint64_t>(56) & map_bit) != 0 ? 1.0F : 0.0F;
}

void hang(const Launch&) { device.hangs = true; }

/// Hangs in any module but the first that it was launched from.
void hang_elsewhere(const Launch& launch) {
  static const Module* first = launch.module;
  scale(launch);
  device.hangs = launch.module != first;
}

void printf_flood(const Launch& launch) {
  scale(launch);
  for (int i = 0; i < 100000; ++i) {
    std::printf("a kernel prints this line, and it goes nowhere\n");
  }
}

/// Pretends that the executor itself broke.
void crash(const Launch&) { kill(getpid(), SIGKILL); }

void nothing(const Launch&) {}

const std::map<std::string, void (*)(const Launch&)> kernels = {
    {"ouroboros_read", read},
    {"ouroboros_canary", canary},
    {"ouroboros_seal", seal},
    {"ouroboros_fill_on_chip", fill_on_chip},
    {"ouroboros_scrub_local", scrub_local},
    {"ouroboros_sentinel", sentinel},
    {"ouroboros_empty", nothing},
    {"ouroboros_touch", nothing},
    {"ouroboros_stamp", stamp},
    {"ouroboros_gate", gate},
    {"ouroboros_step", step},
    {"ouroboros_spin", spin},
    {"ouroboros_hinder", hinder},
    {"scale", scale_in_a_manner},
    {"skip_tail", skip_tail},
    {"hasty", hasty},
    {"dismissive", dismissive},
    {"unwritten_shared", unwritten_shared},
    {"poke", poke},
    {"write_input", write_input},
    {"count", count},
    {"amend", amend},
    {"miscount", miscount},
    {"copy_kept", copy_kept},
    {"decipher_kept", decipher_kept},
    {"remember", remember},
    {"module_number", module_number},
    {"rusty", rusty},
    {"unstable", unstable},
    {"wobble", wobble},
    {"straggle", straggle},
    {"flood", flood},
    {"describe_map", describe_map},
    {"hang", hang},
    {"hang_elsewhere", hang_elsewhere},
    {"keep_on_stack", keep_on_stack},
    {"trap", trap},
    {"printf_flood", printf_flood},
    {"crash", crash}};

/// The kernel of that name; null when there is none.
void (*find_kernel(const std::string& name))(const Launch&) {
  if (name.starts_with("ouroboros_move_")) {
    return move;
  }
  const auto found = kernels.find(name);
  return found == kernels.end() ? nullptr : found->second;
}

template <typename Word>
int fill(Address to, Word value, std::size_t count) {
  return submit([=] {
    device.place += count * sizeof value >= filled_by_a_kernel ? 1 : 0;
    for (std::size_t i = 0; i < count; ++i) {
      reinterpret_cast<Word*>(to)[i] = value;
    }
  });
}

}  // namespace

int cuInit(unsigned) {
#ifdef FAKE_CUDA_READS
  constexpr int operating_system = 304;
  return open(FAKE_CUDA_READS, O_RDONLY | O_CLOEXEC) >= 0 ? 0 : operating_system;
#else
  return 0;
#endif
}
int cuDriverGetVersion(int* version) {
  *version = FAKE_CUDA_VERSION;
  return 0;
}
int cuGetErrorName(int status, const char** text) {
  *text = status == illegal_address ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OTHER";
  return 0;
}
int cuGetErrorString(int, const char** text) {
  *text = "an error of the fake driver";
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
int cuDeviceGet(int* result, int ordinal) {
  *result = ordinal;
  return 0;
}
int cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<std::size_t>(size), "Fake GPU");
  return 0;
}
int cuDeviceGetUuid_v2(Uuid* uuid, int) {
  std::memset(uuid->bytes, 0xab, sizeof uuid->bytes);
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  const std::map<int, int> values = {
      {attribute_multiprocessors, 2},   {attribute_l2_bytes, 1 << 20},
      {attribute_capability_major, 9},  {attribute_capability_minor, 0},
      {attribute_pageable_access, 0},   {attribute_shared_optin, 232448},
      {attribute_virtual_memory, 1},    {attribute_memory_clock_khz, 1000000},
      {attribute_memory_bus_bits, 4096}};
  *value = values.at(attribute);
  return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = memory_bytes;
  return 0;
}
int cuDevicePrimaryCtxRetain(ContextHandle* context, int) {
  *context = reinterpret_cast<ContextHandle>(&device);
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxGetCurrent(ContextHandle* context) {
  *context = nullptr;
  return 0;
}
int cuCtxSetCurrent(ContextHandle) { return 0; }
int cuCtxSetLimit(int, std::size_t) { return 0; }
int cuCtxSynchronize() { return device.status; }
int cuCtxResetPersistingL2Cache() {
  device.kept = false;
  return device.status;
}
int cuMemGetInfo_v2(std::size_t* available, std::size_t* total) {
  *available = free_bytes - device.used;
  *total = memory_bytes;
  return 0;
}
int cuMemGetAllocationGranularity(std::size_t* bytes, const AllocationProperties*, int) {
  *bytes = granule;
  return 0;
}
int cuMemAddressReserve(Address* address, std::size_t bytes, std::size_t, Address hint,
                        std::uint64_t) {
  const auto reserve = [bytes](Address at, int flags) {
    return mmap(reinterpret_cast<void*>(at), bytes, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  };
  // A wish is no more than that: where it cannot be granted, a driver takes another place.
  void* range = reserve(hint, hint != 0 ? MAP_FIXED_NOREPLACE : 0);
  if (range == MAP_FAILED && hint != 0) {
    range = reserve(0, 0);
  }
  *address = reinterpret_cast<Address>(range);
  return range == MAP_FAILED ? status_out_of_memory : 0;
}
int cuMemAddressFree(Address address, std::size_t bytes) {
  return munmap(reinterpret_cast<void*>(address), bytes) == 0 ? 0 : invalid_value;
}
int cuMemCreate(PhysicalHandle* handle, std::size_t bytes, const AllocationProperties*,
                std::uint64_t) {
  if (bytes % granule != 0) {
    return invalid_value;
  }
  if (bytes > free_bytes - device.used) {
    return status_out_of_memory;
  }
  const int file = memfd_create("fake-device-memory", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    return status_out_of_memory;
  }
  device.used += bytes;
  const std::lock_guard guard(memory_mutex);
  *handle = static_cast<PhysicalHandle>(file);
  device.memory[*handle] = {file, bytes};
  return 0;
}
int cuMemRelease(PhysicalHandle handle) {
  const std::lock_guard guard(memory_mutex);
  const auto found = device.memory.find(handle);
  if (found == device.memory.end()) {
    return invalid_value;
  }
  close(found->second.file);
  device.used -= found->second.bytes;
  device.memory.erase(found);
  return 0;
}
int cuMemExportToShareableHandle(void* file, PhysicalHandle handle, int, std::uint64_t) {
  *static_cast<int*>(file) = fcntl(device.memory.at(handle).file, F_DUPFD_CLOEXEC, 0);
  return 0;
}
int cuMemImportFromShareableHandle(PhysicalHandle* handle, void* file, int) {
  const int own =
      fcntl(static_cast<int>(reinterpret_cast<std::intptr_t>(file)), F_DUPFD_CLOEXEC, 0);
  const std::lock_guard guard(memory_mutex);
  *handle = static_cast<PhysicalHandle>(own);
  device.memory[*handle] = {own, 0};
  return own >= 0 ? 0 : invalid_value;
}
int cuPointerGetAttribute(void* value, int, Address) {
  *static_cast<unsigned*>(value) = memory_type_host;
  return 0;
}
int cuMemMap(Address address, std::size_t bytes, std::size_t offset, PhysicalHandle handle,
             std::uint64_t) {
  void* mapped = mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
                      device.memory.at(handle).file, static_cast<off_t>(offset));
  return mapped == MAP_FAILED ? invalid_value : 0;
}
int cuMemUnmap(Address address, std::size_t bytes) {
  if (too_early()) {
    return device.status;
  }
  mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return 0;
}
int cuMemSetAccess(Address address, std::size_t bytes, const AccessDescription* access,
                   std::size_t) {
  if (too_early()) {
    return device.status;
  }
  const int protection = access->access == Access::read ? PROT_READ : PROT_READ | PROT_WRITE;
  return mprotect(reinterpret_cast<void*>(address), bytes, protection) == 0 ? 0 : invalid_value;
}
int cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, StreamHandle) {
  return guarded([&] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
}
int cuMemcpyDtoH_v2(void* to, Address from, std::size_t bytes) {
  if (!too_early()) {
    guarded([&] { std::memcpy(to, reinterpret_cast<const void*>(from), bytes); });
    --device.enqueued;
  }
  return device.status;
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, StreamHandle) {
  if (FAKE_CUDA_VARIABLES_APART && is_in_module(from) && bytes > sizeof(std::uint32_t)) {
    return invalid_value;
  }
  return submit([=] {
    ++device.place;
    device.microseconds += 1 + static_cast<double>(bytes) * 1e-6;
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  });
}
int cuMemsetD8Async(Address to, unsigned char value, std::size_t count, StreamHandle) {
  return fill(to, value, count);
}
int cuMemsetD16Async(Address to, unsigned short value, std::size_t count, StreamHandle) {
  return fill(to, value, count);
}
int cuMemsetD32Async(Address to, unsigned value, std::size_t count, StreamHandle) {
  return fill(to, value, count);
}
int cuModuleLoadData(ModuleHandle* module, const void* image) {
  constexpr int invalid_image = 200;
  const auto* text = static_cast<const char*>(image);
  // A module of ours, PTX of the executor's, or a real cubin, of which the names alone count.
  const bool real = std::strncmp(text,
                                 "\x7f"
                                 "ELF",
                                 4) == 0;
  if (!real && std::strncmp(text, "fake", 4) != 0 && *text != '\n') {
    return invalid_image;
  }
  auto* loaded = new Module;
  loaded->real = real;
  device.modules[loaded];
  *module = reinterpret_cast<ModuleHandle>(loaded);
  return 0;
}
int cuModuleUnload(ModuleHandle module) {
  auto* loaded = reinterpret_cast<Module*>(module);
  if (!too_early()) {
    if (device.modules.erase(loaded) == 0) {
      return invalid_value;
    }
    delete loaded;
  }
  return device.status;
}
int cuModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
  if (find_kernel(name) == nullptr) {
    return not_found;
  }
  auto* loaded = reinterpret_cast<Module*>(module);
  auto& found = device.modules.at(loaded)[name];
  found = {name, loaded};
  *function = reinterpret_cast<FunctionHandle>(&found);
  return 0;
}
int cuModuleGetGlobal_v2(Address* address, std::size_t* bytes, ModuleHandle module,
                         const char* name) {
  if (std::strcmp(name, "counter") != 0) {
    return not_found;
  }
  *address = reinterpret_cast<Address>(reinterpret_cast<Module*>(module)->globals.data()) +
             Module::counter_at;
  *bytes = sizeof(std::uint32_t);
  return 0;
}
int cuFuncGetAttribute(int* value, int attribute, FunctionHandle of) {
  const auto& name = reinterpret_cast<const Function*>(of)->name;
  *value = attribute == function_local_bytes && name == "keep_on_stack" ? left_bytes : 0;
  return 0;
}
int cuFuncSetAttribute(FunctionHandle, int, int) { return 0; }
int cuLaunchKernelEx(const LaunchConfiguration* configuration, FunctionHandle function,
                     void** parameters, void** extra) {
  const auto& [name, module] = *reinterpret_cast<const Function*>(function);
  const auto kernel = find_kernel(name);
  // The executor's own kernels come with pointers to their parameters, eight bytes apart here.
  std::vector<unsigned char> block(64);
  if (extra != nullptr) {
    const auto* bytes = static_cast<const unsigned char*>(extra[1]);
    const auto size = *static_cast<const std::size_t*>(extra[3]);
    block.assign(bytes, bytes + size);
    block.resize(std::max<std::size_t>(size, 64));
  }
  for (std::size_t i = 0; parameters != nullptr && parameters[i] != nullptr; ++i) {
    std::memcpy(block.data() + i * 8, parameters[i], 8);
  }
  return submit([kernel, owner = module, configuration = *configuration, block] {
    device.microseconds += device.launch_us + configuration.grid[0] * 0.001;
    ++device.launches;
    device.microseconds += ++device.place % 8 == 0 ? FAKE_CUDA_EIGHTH_US : 0;
    kernel({owner, &configuration, block.data()});
  });
}
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  *memory = std::malloc(bytes);
  return 0;
}
int cuMemFreeHost(void* memory) {
  std::free(memory);
  return 0;
}
int cuMemHostGetDevicePointer_v2(Address* address, void* memory, unsigned) {
  *address = reinterpret_cast<Address>(memory);
  return 0;
}
int cuStreamBeginCapture_v2(StreamHandle, int) {
  device.capturing = new Graph;
  return 0;
}
int cuStreamEndCapture(StreamHandle, GraphHandle* graph) {
  *graph = reinterpret_cast<GraphHandle>(device.capturing);
  device.capturing = nullptr;
  return 0;
}
int cuGraphInstantiateWithFlags(GraphExecutable* executable, GraphHandle graph,
                                unsigned long long) {
  *executable =
      reinterpret_cast<GraphExecutable>(new Graph(*reinterpret_cast<const Graph*>(graph)));
  return 0;
}
int cuGraphDestroy(GraphHandle graph) {
  delete reinterpret_cast<Graph*>(graph);
  return 0;
}
int cuGraphExecDestroy(GraphExecutable executable) {
  delete reinterpret_cast<Graph*>(executable);
  return 0;
}
int cuGraphLaunch(GraphExecutable executable, StreamHandle) {
  in_graph = true;
  for (const auto& work : *reinterpret_cast<const Graph*>(executable)) {
    work();
  }
  in_graph = false;
  return 0;
}
int cuTensorMapEncodeTiled(TensorMap* map, int, std::uint32_t rank, void* address,
                           const std::uint64_t*, const std::uint64_t*, const std::uint32_t*,
                           const std::uint32_t*, int, int, int, int) {
  map->opaque[0] = reinterpret_cast<Address>(address);
  map->opaque[1] = rank | map_bit;
  return reinterpret_cast<Address>(address) % 16 == 0 ? 0 : invalid_value;
}
int cuStreamCreate(StreamHandle* stream, unsigned) {
  *stream = reinterpret_cast<StreamHandle>(&device);
  return 0;
}
int cuEventCreate(EventHandle* event, unsigned) {
  *event = reinterpret_cast<EventHandle>(new Event);
  return 0;
}
int cuEventDestroy_v2(EventHandle event) {
  delete reinterpret_cast<Event*>(event);
  return 0;
}
int cuEventRecord(EventHandle event, StreamHandle) {
  *reinterpret_cast<Event*>(event) = {++device.recorded, device.enqueued, device.microseconds};
  return device.status;
}
// The device is busy until the host asks for the last event: so a question about an earlier one
// finds it unfinished, as behind a flush.
int cuEventQuery(EventHandle event) {
  if (device.status != 0) {
    return device.status;
  }
  const auto number = reinterpret_cast<const Event*>(event)->number;
  if (number == device.recorded && !device.hangs) {
    device.finished = number;
    device.done = reinterpret_cast<const Event*>(event)->work;
    device.gate = nullptr;
  }
  return number <= device.finished ? 0 : status_not_ready;
}
// An event takes a little longer where work came behind it, as on an H200.
int cuEventElapsedTime(float* milliseconds, EventHandle start, EventHandle stop) {
  const auto passed = [](EventHandle event) {
    const auto& one = *reinterpret_cast<const Event*>(event);
    return one.microseconds + (device.enqueued > one.work ? 0.01 : 0.0);
  };
  *milliseconds = static_cast<float>((passed(stop) - passed(start)) * 1e-3);
  return 0;
}
