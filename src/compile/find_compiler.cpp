#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "compile/compiler.hpp"
#include "ouroboros/error.hpp"

namespace ouroboros::compile {
namespace {

std::filesystem::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return access(name.c_str(), X_OK) == 0 ? std::filesystem::path(name) : std::filesystem::path();
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  std::string folder;
  while (std::getline(folders, folder, ':')) {
    const auto program = std::filesystem::path(folder) / name;
    if (!folder.empty() && access(program.c_str(), X_OK) == 0) {
      return program;
    }
  }
  return {};
}

}  // namespace

std::filesystem::path find_compiler(const std::string& configured) {
  std::vector<std::string> names;
  const char* environment = std::getenv("CXX");
  if (!configured.empty()) {
    names = {configured};
  } else if (environment != nullptr && *environment != '\0') {
    names = {environment};
  } else {
    names = {"c++", "g++", "clang++"};
  }
  std::string tried;
  for (const auto& name : names) {
    if (const auto program = find_program(name); !program.empty()) {
      return std::filesystem::canonical(program);
    }
    tried += (tried.empty() ? "" : ", ") + name;
  }
  throw Error(ErrorCode::compiler_missing,
              "no C++ compiler was found (tried " + tried +
                  "): install g++, or name one in Options::compiler or CXX");
}

}  // namespace ouroboros::compile
