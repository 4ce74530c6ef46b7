#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>

#include "ouroboros/error.hpp"

namespace ouroboros {

/// Lets a number of callers in at once.
class Door {
 public:
  explicit Door(std::size_t places) : places_(places) {}

  /// Waits for a place. Throws `Error{cancelled}` where the hook, which may be none, says so.
  void enter(const std::function<bool()>& cancelled) {
    constexpr auto interval = std::chrono::milliseconds(20);
    std::unique_lock lock(mutex_);
    while (places_ == 0) {
      changed_.wait_for(lock, interval);
      lock.unlock();
      if (cancelled && cancelled()) {
        throw Error(ErrorCode::cancelled, "cancelled before a candidate was traced");
      }
      lock.lock();
    }
    --places_;
  }

  void leave() {
    const std::lock_guard lock(mutex_);
    ++places_;
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t places_;
};

/// One caller's place, while it lives.
class Place {
 public:
  Place(Door& door, const std::function<bool()>& cancelled) : door_(door) { door.enter(cancelled); }
  ~Place() { door_.leave(); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  Door& door_;
};

}  // namespace ouroboros
