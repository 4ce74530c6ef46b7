#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ouroboros/api.hpp"
#include "ouroboros/limits.hpp"
#include "ouroboros/plan.hpp"

namespace ouroboros {

/// Which end of its guarded pages a buffer touches.
enum class Placement : std::uint8_t {
  low,   ///< The first byte follows a guard page.
  high,  ///< The end, rounded up to 64 bytes, meets a guard page.
};

/// The memory of a table of calls, laid out once and shared by every arm of a comparison.
///
/// Each buffer has pages of its own between inaccessible guard pages. All arms map the *same*
/// physical pages, so that no arm has better memory than another. The referee's own view, which
/// this class gives, is writable; a candidate sees inputs read-only.
class OUROBOROS_API Arena {
 public:
  /// Lays out the buffers of `calls`. Pages cost memory only once they are touched.
  /// Throws `Error{out_of_memory}` when the sizes cannot be had.
  explicit Arena(std::vector<Call> calls);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  [[nodiscard]] const std::vector<Call>& calls() const noexcept;

  /// The referee's view of a buffer's elements: exactly `Buffer::bytes()` bytes.
  [[nodiscard]] std::span<std::byte> view(std::size_t call, std::size_t buffer,
                                          Placement placement) const;

  /// Fills every byte of a call's pages that belongs to no element (the slack before or after the
  /// buffer) and every output element with a pattern made from `seed`. Elements hold what no result
  /// is at the low end (NaN, implausible integers), and at the high end what many are: zero, one, a
  /// very large number of either sign.
  void poison(std::size_t call, Placement placement, std::uint64_t seed) const;

  /// Re-poisons the outputs' elements alone, which is what a timed replay needs, with either kind.
  void poison_outputs(std::size_t call, Placement placement, std::uint64_t seed) const;

  /// Compares a call's slack with what `poison` wrote. Returns a sentence that names the buffer
  /// and the distance from its end or its beginning, or nothing when the slack is untouched.
  [[nodiscard]] std::optional<std::string> slack_damage(std::size_t call, Placement placement,
                                                        std::uint64_t seed) const;

  /// How many elements of one of a call's outputs still hold what `poison` wrote. Returns a
  /// sentence that says so, or nothing when all were written. At the high end nothing is ever said:
  /// a result may be the number that `poison` wrote.
  [[nodiscard]] std::optional<std::string> unwritten(std::size_t call, std::size_t buffer,
                                                     Placement placement, std::uint64_t seed) const;

  /// Gives a call's pages back to the system. Their contents are lost.
  void release(std::size_t call) const;

  class Layout;  ///< Offsets and descriptor, for executors.
  [[nodiscard]] const Layout& layout() const noexcept;

 private:
  std::unique_ptr<Layout> layout_;
};

/// How a replay ended, as the kernel (never the candidate) reports it.
enum class Outcome : std::uint8_t {
  returned,  ///< The call came back, and the candidate is stopped.
  fault,     ///< A signal: illegal address, arithmetic, illegal instruction, stack overflow.
  forbidden_syscall,  ///< The candidate asked the kernel for something after the seal.
  exited,             ///< The candidate tried to end its process.
  timeout,            ///< The candidate ran past its time.
  out_of_memory,      ///< The candidate asked for more heap than it may have, and then failed.
  load_failed,        ///< The module could not be loaded: an unknown symbol, a refused feature.
  tampered,           ///< On a GPU: the candidate changed what the referee had kept to check.
};

[[nodiscard]] OUROBOROS_API std::string_view to_string(Outcome outcome) noexcept;

/// What is known of one replay.
struct Replay {
  Outcome outcome = Outcome::returned;
  /// Processor time of the callee's only thread, read by the referee before it lets the callee go
  /// and after the kernel has stopped it. Unlike wall time it leaves out other programs' turns.
  std::chrono::nanoseconds elapsed{0};
  std::chrono::nanoseconds wall{0};  ///< From letting the callee go to knowing that it stands.
  std::string evidence;              ///< One sentence; empty when the call returned.
  /// Of a launch plan: device time of each launch, in order; 0 for one that was left out.
  std::vector<std::chrono::nanoseconds> launches = {};
  /// Whether other work kept some of the GPU's multiprocessors busy, to bring blocks and warps out
  /// of step: then times say nothing of the candidate.
  bool hindered = false;
};

/// The isolation that was achieved for a process, mechanism by mechanism.
struct Isolation {
  std::string level = "none";           ///< "sealed", "sandboxed", "degraded" or "none".
  bool sealed = false;                  ///< Every system call of the candidate stops it.
  std::vector<std::string> namespaces;  ///< Of "user", "net", "ipc", "pid", "mnt", "uts".
  int landlock_abi = 0;                 ///< 0 when Landlock is not in force.
  bool no_new_privileges = false;
  bool resource_limits = false;
  bool process_group = false;
  bool runs_as_root = false;         ///< The referee itself runs as uid 0.
  std::vector<std::string> missing;  ///< One sentence for each mechanism that is not in force.
};

/// One arm of a comparison: something that can be called on an arena's buffers, again and again.
///
/// A session belongs to one thread at a time. It is single-use: after an outcome other than
/// `returned` every further replay reports that same outcome.
class OUROBOROS_API Session {
 public:
  virtual ~Session();

  /// Runs call number `call` on the buffers at `placement` and returns once the callee is stopped.
  virtual Replay replay(std::size_t call, Placement placement) = 0;

  /// Pins the callee to one processor. Hand-overs are quickest, and alike for all arms, when caller
  /// and callees share it.
  virtual void pin(int cpu) = 0;

  /// Whether the module exports the entry point of call number `call`.
  [[nodiscard]] virtual bool exports(std::size_t call) const = 0;

  /// How opening ended. Anything but `returned` says what the candidate did while it was loaded.
  [[nodiscard]] virtual const Replay& opening() const noexcept = 0;

  [[nodiscard]] virtual const Isolation& isolation() const noexcept = 0;
};

/// Runs plans. Host today: a sealed process for each session.
class OUROBOROS_API Executor {
 public:
  virtual ~Executor();

  /// Loads a plan's module in a fresh process, seals it, and only then runs its constructors.
  /// `arena` must have been laid out from `plan.calls`. A module that the candidate made unloadable
  /// gives a session whose `opening()` says so; a broken machine throws `Error`.
  virtual std::unique_ptr<Session> open(const HostPlan& plan,
                                        std::shared_ptr<const Arena> arena) = 0;
};

/// The executor for `cpp` candidates on this machine's processors. `cancelled` is asked while a
/// candidate runs; when it says true, the call ends with `Error{cancelled}`.
/// Opening throws `Error{not_found}` when the helper programs cannot be found, and
/// `Error{sandbox_unavailable}` where the kernel cannot seal a process.
[[nodiscard]] OUROBOROS_API std::unique_ptr<Executor> make_host_executor(
    const Limits& limits = {}, std::function<bool()> cancelled = {});

/// A trusted arm: `calls[i]` runs as call number i in a thread of this process, handed over and
/// clocked exactly as a sealed process is. An exception that a call throws comes out of `replay`.
[[nodiscard]] OUROBOROS_API std::unique_ptr<Session> open_trusted(
    std::vector<std::function<void()>> calls);

/// What a sealed process gets on this machine, found out by sandboxing a program that does nothing.
[[nodiscard]] OUROBOROS_API Isolation probe_isolation();

}  // namespace ouroboros
