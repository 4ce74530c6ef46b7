#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ouroboros/api.hpp"
#include "ouroboros/cache.hpp"
#include "ouroboros/calibration.hpp"
#include "ouroboros/device_arena.hpp"
#include "ouroboros/executor.hpp"
#include "ouroboros/gpu_state.hpp"
#include "ouroboros/launch_plan.hpp"
#include "ouroboros/limits.hpp"

/// Replays launch plans on an NVIDIA GPU, in a process of its own that runs no code of the
/// candidate's on the host. Nothing here links the CUDA driver or needs its headers.
namespace ouroboros {

/// What is known of a GPU.
struct CudaDevice {
  std::string name;
  std::string target;  ///< "sm_90".
  std::string uuid;
  int multiprocessors = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;  ///< When the executor started; 0 from `cuda_devices`.
  std::uint64_t l2_bytes = 0;
  int shared_optin_bytes = 0;  ///< The most shared memory of a block.
  int driver_version = 0;      ///< 13000 for CUDA 13.0.
  int ordinal = 0;
  /// Whether kernels can reach this machine's ordinary memory. Then nothing but the secrecy of
  /// addresses keeps a kernel out of the executor's own memory.
  bool pageable_access = false;
};

/// The GPUs of this machine.
struct CudaDevices {
  std::vector<CudaDevice> devices;
  std::string reason;    ///< Why there is none, in one sentence; empty when there is one.
  bool answered = true;  ///< False where it could not be found out, and may be another time.
};

/// Finds out in a child process, so that no driver is ever loaded into this one. `libcuda`: the
/// driver's library, for tests; empty for $OUROBOROS_LIBCUDA, then the system's.
[[nodiscard]] OUROBOROS_API CudaDevices cuda_devices(const std::string& libcuda = {});

struct CudaOptions {
  int device = 0;  ///< In the order of the PCI bus.
  Limits limits;
  std::function<bool()> cancelled;  ///< When it says true, calls end with `Error{cancelled}`.
  /// Whether one process serves several sessions, one after another. Between two it unloads all
  /// modules, unmaps all memory, overwrites shared memory and the L2 cache and checks a sentinel.
  /// Without, every session has a process and a context of its own.
  bool reuse = false;
  /// Whether the next process starts before it is needed: while one is in use, or, with `reuse`,
  /// when one was lost to a fault.
  bool spare = true;
  std::string libcuda;  ///< As for `cuda_devices`.
};

/// A session on a GPU. Its replays say how long each launch took.
class OUROBOROS_API CudaSession : public Session {
 public:
  ~CudaSession() override;

  /// As `replay`, but with these launches of the call's plan left out: what do the others compute
  /// alone? Outputs, scratch and state are prepared as always.
  virtual Replay replay_without(std::size_t call, Placement placement,
                                const std::vector<std::size_t>& launches) = 0;
};

/// How launches between two events reach the device. In the order of escalation: a race goes over
/// to the next, for all arms alike, when launches take longer to submit than the one before hides.
enum class Submission : std::uint8_t {
  stream,  ///< One by one, while the device is busy with the cache flush.
  gate,    ///< One by one, while the device waits at a gate behind the flush.
  graph,   ///< All in one call, behind the gate.
};

[[nodiscard]] OUROBOROS_API std::string_view to_string(Submission submission) noexcept;

/// One timed run of an arm.
struct CudaSample {
  double latency_us = 0;  ///< Between the events around its launches, cold L2 cache; by run.
  double flush_us = 0;    ///< Of the cache flush before it.
  double span_us = 0;     ///< From before the flush to after the run, by the device's other clock.
  double clock_mhz = 0;   ///< Of the multiprocessors meanwhile.
  /// The GPU may have waited for the host inside the measurement: leave the sample out.
  bool starved = false;
  /// Whether the outputs are, bit for bit, those of the arm's first run in the block.
  bool same_as_first = true;
};

struct CudaBlock {
  std::vector<CudaSample> samples;  ///< In the order asked for.
  Submission submission = Submission::stream;
  Replay replay;  ///< Anything but `returned` ended the block, and the race.
  /// Which arm did that. Empty where any may have: of writes to what no kernel is given.
  std::optional<std::size_t> arm = std::nullopt;
  std::size_t code = 0;  ///< Which copies of the arms' code ran: blocks of one number ran the same.
  /// What each run of a sample has in it that is none of its arm's work, in microseconds: what a
  /// launch adds, and in a chain a share of that and the gap to the next call. Measured in the
  /// block, as an arm is, with kernels that say how long they ran. Empty where that was starved.
  std::optional<double> handover_us = std::nullopt;
};

/// A block to run: the arms in this order, all on one set of inputs and pages.
struct CudaRound {
  std::size_t set = 0;
  std::vector<std::size_t> order;
  bool keep_last = false;  ///< For `download`: the outputs of each arm's last run, not its first.
};

/// Several plans of one signature that take turns on the same physical pages at the same addresses.
class OUROBOROS_API CudaRace {
 public:
  static constexpr std::size_t all_sets = std::numeric_limits<std::size_t>::max();

  virtual ~CudaRace();

  /// How opening ended, as for a session.
  [[nodiscard]] virtual const Replay& opening() const noexcept = 0;
  [[nodiscard]] virtual const Isolation& isolation() const noexcept = 0;

  /// How many copies of each plan's code take turns: see `CudaRaceOptions`. 0 where none was
  /// loaded.
  [[nodiscard]] virtual std::size_t code_copies() const noexcept = 0;

  /// Copies the inputs of the first `sets` sets to the device, or of all: before the first block on
  /// them, and whenever they changed.
  virtual void upload(std::size_t sets = all_sets) = 0;

  /// Runs blocks. Before each run outputs and scratch are poisoned anew, state is restored and the
  /// L2 cache is flushed. Fewer blocks come back when one failed: the last says why. Of a chain a
  /// sample is the mean of so many runs, one after another between two events, each on a set of its
  /// own: the first ones, whatever a round says.
  virtual std::vector<CudaBlock> run(const std::vector<CudaRound>& rounds,
                                     std::size_t chain = 1) = 0;

  /// One block on the first set.
  CudaBlock run_block(const std::vector<std::size_t>& order);

  /// Brings the outputs of the arm's first run, or last, in the last block on each of the first
  /// `sets` sets to the arena.
  virtual void download(std::size_t arm, std::size_t sets = all_sets) = 0;

  /// The GPU's state, asked of the race's own process: between two blocks the clocks are those
  /// that the next one begins with. What is not known is no error, a race that is over included.
  [[nodiscard]] virtual GpuState state() = 0;
};

/// How a race is set up.
struct CudaRaceOptions {
  std::size_t first_call = 0;  ///< The call of a host arena, or the set of a GPU's, that is set 0.
  std::size_t sets = 1;        ///< How many of these, all alike, are used.
  std::size_t padding_bytes = 0;  ///< Taken before all other memory, so that this lies elsewhere.
  Cache cache = Cache::cold;      ///< Before each run.
  /// How often each plan's code is loaded, which blocks use in turn: where it lies can make two
  /// copies of one kernel differ. Without chains, what is next runs once, untimed, at the end of a
  /// block. A power of two; fewer where the code is large.
  std::size_t code_copies = 1;
};

/// A GPU and the processes that replay on it.
class OUROBOROS_API CudaExecutor {
 public:
  virtual ~CudaExecutor();

  /// Starts the first process and takes the device. Throws `Error{unsupported}` where there is no
  /// driver, no such device or too old a driver, and `Error{not_found}` without the helper program.
  [[nodiscard]] static std::unique_ptr<CudaExecutor> start(const CudaOptions& options = {});

  [[nodiscard]] virtual const CudaDevice& device() const noexcept = 0;

  /// A session in which plan number i computes call number i of the arena: the plan's inputs and
  /// outputs are that call's buffers, in order. `Replay::elapsed` is the device's time for all the
  /// launches, one after another; `wall` the whole of a replay.
  virtual std::unique_ptr<CudaSession> open(std::vector<LaunchPlan> plans,
                                            std::shared_ptr<const Arena> arena) = 0;

  /// A race of plans that all compute the calls of an arena that `options` name.
  virtual std::unique_ptr<CudaRace> open_race(std::vector<LaunchPlan> arms,
                                              std::shared_ptr<const Arena> arena,
                                              const CudaRaceOptions& options = {}) = 0;

  /// The same on inputs and outputs that never leave the GPU.
  virtual std::unique_ptr<CudaRace> open_race(std::vector<LaunchPlan> arms,
                                              std::shared_ptr<const DeviceArena> arena,
                                              const CudaRaceOptions& options = {}) = 0;

  /// Measures what this GPU's clock can resolve: about a third of a second. `calibration` keeps it.
  [[nodiscard]] virtual Calibration calibrate() = 0;

  /// The GPU's state, asked of a waiting process, which is started where there is none. What is
  /// not known is no error.
  [[nodiscard]] virtual GpuState state() = 0;

  /// How long the last cleaning between two sessions took; 0 when there was none.
  [[nodiscard]] virtual double hygiene_ms() const noexcept = 0;
};

}  // namespace ouroboros
