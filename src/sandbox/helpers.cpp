#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

#include "ouroboros/error.hpp"
#include "sandbox/folder.hpp"
#include "sandbox/process.hpp"

namespace ouroboros::sandbox {

std::filesystem::path find_helper(const std::string& name) {
  std::vector<std::filesystem::path> folders;
  if (const char* configured = std::getenv("OUROBOROS_LIBEXEC"); configured != nullptr) {
    folders.emplace_back(configured);
  }
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&find_helper), &self) != 0 && self.dli_fname) {
    std::error_code ignored;
    const auto library = std::filesystem::canonical(self.dli_fname, ignored).parent_path();
    for (const char* relative : {".", "libexec", "../libexec/ouroboros", "../bin"}) {
      folders.push_back(library / relative);
    }
  }
  std::string looked;
  for (const auto& folder : folders) {
    const auto program = (folder / name).lexically_normal();
    if (access(program.c_str(), X_OK) == 0) {
      return std::filesystem::canonical(program);
    }
    looked += (looked.empty() ? "" : ", ") + folder.lexically_normal().string();
  }
  throw Error(ErrorCode::not_found, "the helper program " + name + " was not found in " + looked +
                                        ": reinstall, or point OUROBOROS_LIBEXEC to its folder");
}

std::vector<std::filesystem::path> system_folders() {
  return {"/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives"};
}

std::vector<std::filesystem::path> nvidia_devices() {
  std::vector<std::filesystem::path> devices;
  for (const auto& name : names_in("/dev")) {
    if (name.starts_with("nvidia")) {
      devices.push_back(std::filesystem::path("/dev") / name);
    }
  }
  return devices;
}

}  // namespace ouroboros::sandbox
