#include "sandbox/lasting_process.hpp"

#include "base/start_thread.hpp"

namespace ouroboros::sandbox {

LastingProcess::LastingProcess(const Request& request) {
  std::promise<std::unique_ptr<Process>> started;
  auto process = started.get_future();
  parent_ =
      start_thread([&request, started = std::move(started), over = over_.get_future()]() mutable {
        try {
          started.set_value(std::make_unique<Process>(request));
        } catch (...) {
          started.set_exception(std::current_exception());
        }
        over.wait();
      });
  try {
    process_ = process.get();
  } catch (...) {
    over_.set_value();
    parent_.join();
    throw;
  }
}

LastingProcess::~LastingProcess() {
  process_.reset();
  over_.set_value();
  parent_.join();
}

}  // namespace ouroboros::sandbox
