#include "compile/cuda/toolkit.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "sandbox/folder.hpp"

namespace ouroboros::cuda {
namespace {

namespace fs = std::filesystem;
using Folders = std::vector<fs::path>;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// What is in a folder, the newest version first; empty when there is no such folder.
Folders entries(const fs::path& folder) {
  Folders found;
  for (const auto& name : sandbox::names_in(folder)) {
    found.push_back(folder / name);
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

Folders paths_of(const char* variable) {
  const char* value = std::getenv(variable);
  std::istringstream list(value != nullptr ? value : "");
  Folders paths;
  for (std::string path; std::getline(list, path, ':');) {
    if (!path.empty()) paths.emplace_back(path);
  }
  return paths;
}

/// NVIDIA's wheels, each a toolkit of its own, and the one that Triton brings.
void add_site_packages(const fs::path& folder, Folders& roots) {
  const auto wheels = entries(folder / "nvidia");
  roots.insert(roots.end(), wheels.begin(), wheels.end());
  roots.push_back(folder / "triton" / "backends" / "nvidia");
}

/// The files that this process has loaded: PyTorch brings NVIDIA's wheels, and perhaps NVRTC.
Folders loaded_files() {
  Folders files;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        if (info->dlpi_name != nullptr && *info->dlpi_name == '/') {
          static_cast<Folders*>(data)->emplace_back(info->dlpi_name);
        }
        return 0;
      },
      &files);
  return files;
}

Folders roots_of(const Folders& first) {
  Folders roots = first;
  const auto configured = paths_of("OUROBOROS_NVRTC");
  roots.insert(roots.end(), configured.begin(), configured.end());
  for (auto& root : roots) {
    std::error_code ignored;
    if (fs::is_regular_file(root, ignored)) root = root.parent_path();
    // The folder of libraries was named: headers and programs are beside it.
    const auto name = root.filename();
    if (name == "lib" || name == "lib64") root = root.parent_path();
  }
  for (const auto& file : loaded_files()) {
    const auto name = file.filename().string();
    if (name.starts_with("libnvrtc.so")) roots.push_back(file.parent_path().parent_path());
    // .../site-packages/torch/lib/libtorch_cpu.so, .../site-packages/ouroboros/lib/...
    if (name.starts_with("libtorch_cpu.so") || name.starts_with("libouroboros_replay.so")) {
      add_site_packages(file.parent_path().parent_path().parent_path(), roots);
    }
  }
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    for (const auto& prefix : paths_of(variable)) {
      for (const auto& folder : entries(prefix / "lib")) {
        if (folder.filename().string().starts_with("python3")) {
          add_site_packages(folder / "site-packages", roots);
        }
      }
      roots.push_back(prefix);
    }
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const auto paths = paths_of(variable);
    roots.insert(roots.end(), paths.begin(), paths.end());
  }
  for (const auto& folder : entries("/usr/local")) {
    if (folder.filename().string().starts_with("cuda")) roots.push_back(folder);
  }
  roots.emplace_back("/usr");
  return roots;
}

/// `folder` below a root, wherever toolkits and distributions have it.
Folders below(const fs::path& root, const char* folder) {
  Folders folders = {root / folder};
  const auto add = [&folders](const fs::path& path) {
    if (is_there(path)) folders.push_back(path);
  };
  if (std::string(folder) == "lib") {
    add(root);
    add(root / "lib64");
    add(root / "lib" / "x86_64-linux-gnu");
    add(root / "lib" / "aarch64-linux-gnu");
  } else if (std::string(folder) == "include") {
    add(root / "include" / "cccl");
  }
  for (const auto& target : entries(root / "targets")) {
    add(target / folder);
    add(target / folder / "cccl");
  }
  return folders;
}

/// The first of `roots` that has one of `names` in `folder`.
fs::path find(const Folders& roots, const char* folder, std::initializer_list<const char*> names) {
  for (const auto& root : roots) {
    for (const auto& place : below(root, folder)) {
      for (const char* name : names) {
        if (is_there(place / name)) return place / name;
      }
    }
  }
  return {};
}

fs::path resolved(const fs::path& path) {
  std::error_code ignored;
  return path.empty() ? path : fs::canonical(path, ignored);
}

/// CUDA's headers and those of its C++ libraries, which many of the first include; empty unless
/// both are there. Wheels of CUDA 12 have them in two folders; one toolkit with both is preferred.
Folders find_headers(const Folders& roots) {
  const auto pair = [](const Folders& places) -> Folders {
    const auto cuda = find(places, "include", {"cuda_fp16.h"});
    const auto libraries = find(places, "include", {"cuda/std/type_traits"});
    if (cuda.empty() || libraries.empty()) return {};
    Folders found = {resolved(cuda.parent_path())};
    const auto second = resolved(libraries.parent_path().parent_path().parent_path());
    if (second != found.front()) found.push_back(second);
    return found;
  };
  for (const auto& root : roots) {
    if (auto found = pair({root}); !found.empty()) return found;
  }
  return pair(roots);
}

}  // namespace

Toolkit find_toolkit(const Folders& first) {
  const auto roots = roots_of(first);
  Toolkit toolkit;
  toolkit.nvrtc = resolved(find(roots, "lib", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}));
  toolkit.jit_link =
      resolved(find(roots, "lib", {"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"}));
  toolkit.assembler = resolved(find(roots, "bin", {"ptxas"}));
  toolkit.headers = find_headers(roots);
  toolkit.complete_headers = !toolkit.headers.empty();
  if (const auto half = find(roots, "include", {"cuda_fp16.h"});
      !toolkit.complete_headers && !half.empty()) {
    toolkit.headers = {resolved(half.parent_path())};
  }
  for (const auto& root : roots) {
    toolkit.looked += (toolkit.looked.empty() ? "" : ", ") + root.string();
  }
  return toolkit;
}

}  // namespace ouroboros::cuda
