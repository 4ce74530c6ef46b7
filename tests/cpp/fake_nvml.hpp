#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace ouroboros_test {

/// Which NVML executors load, and what it says, while this lives.
class FakeNvml {
 public:
  explicit FakeNvml(const std::string& library = OUROBOROS_GOOD_FAKE_NVML)
      : path_("/dev/shm/ouroboros-fake-nvml-" + std::to_string(getpid())) {
    setenv("OUROBOROS_LIBNVML", library.c_str(), 1);
    std::ofstream(path_, std::ios::trunc).flush();
  }
  ~FakeNvml() {
    unsetenv("OUROBOROS_LIBNVML");
    std::filesystem::remove(path_);
  }
  FakeNvml(const FakeNvml&) = delete;
  FakeNvml& operator=(const FakeNvml&) = delete;

  /// Of lines with one name the last counts; processes add up.
  FakeNvml& say(const std::string& name, long long value) {
    std::ofstream(path_, std::ios::app) << name << ' ' << value << '\n';
    return *this;
  }

 private:
  std::string path_;
};

}  // namespace ouroboros_test
