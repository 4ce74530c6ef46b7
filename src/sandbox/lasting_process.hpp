#pragma once

#include <future>
#include <memory>
#include <thread>

#include "sandbox/process.hpp"

namespace ouroboros::sandbox {

/// A process that outlives the thread that asks for it.
///
/// The kernel kills a sandboxed process with the *thread* that started it, which is what one wants
/// of a process that serves one call. One that is kept between calls, which may come from any
/// thread, gets a thread of its own for a parent.
class LastingProcess {
 public:
  /// Throws what `Process` throws.
  explicit LastingProcess(const Request& request);
  ~LastingProcess();
  LastingProcess(const LastingProcess&) = delete;
  LastingProcess& operator=(const LastingProcess&) = delete;

  Process* operator->() const noexcept { return process_.get(); }

 private:
  std::unique_ptr<Process> process_;
  std::promise<void> over_;
  std::thread parent_;
};

}  // namespace ouroboros::sandbox
