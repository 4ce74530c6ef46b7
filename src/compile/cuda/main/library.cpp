#include "compile/cuda/main/library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "compile/cuda/main/exit_code.hpp"

namespace ouroboros::cuda {

void finish(int code, const std::string& message) {
  std::size_t done = 0;
  while (done < message.size()) {
    const ssize_t count = write(STDOUT_FILENO, message.data() + done, message.size() - done);
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  // Without NVIDIA's destructors: nothing they could still do matters here.
  _exit(code);
}

namespace {

/// Loads the libraries beside `path` whose names begin with `prefix`: NVRTC opens its companion by
/// name alone, and some releases do not look for it where they lie themselves.
void preload_companions(const std::filesystem::path& path, std::string_view prefix) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path(), ignored)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with(prefix) && name.find(".alt.") == std::string::npos) {
      dlopen(entry.path().c_str(), RTLD_NOW | RTLD_GLOBAL);
    }
  }
}

}  // namespace

Library::Library(const char* path) : path_(path), handle_(nullptr) {
  preload_companions(path, "libnvrtc-builtins.so.");
  handle_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const char* reason = dlerror();
    finish(exit_library, path_ + " cannot be loaded: " + (reason != nullptr ? reason : "unknown"));
  }
}

void* Library::find(const std::string& name) const { return dlsym(handle_, name.c_str()); }

void* Library::require(const std::string& name) const {
  void* function = find(name);
  if (function == nullptr) finish(exit_library, path_ + " has no function " + name);
  return function;
}

std::string read_text(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) finish(exit_library, std::string(path) + " cannot be read");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_bytes(const char* path, const std::vector<char>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) finish(exit_source, "the cubin is larger than the limit, or cannot be written");
}

}  // namespace ouroboros::cuda
