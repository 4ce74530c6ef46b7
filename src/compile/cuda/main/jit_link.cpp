#include <string_view>

#include "compile/cuda/main/exit_code.hpp"
#include "compile/cuda/main/library.hpp"

namespace ouroboros::cuda {
namespace {

// nvJitLink.h, as far as it is needed. Its functions are named after the version of the header:
// each library has those of all its predecessors in the same major version.
using Result = int;
using Handle = void*;
constexpr Result success = 0;
constexpr int input_ptx = 2;

class JitLink {
 public:
  explicit JitLink(const Library& library) : library_(library) {
    for (int major = 19; major >= 12 && suffix_.empty(); --major) {
      for (int minor = 19; minor >= 0 && suffix_.empty(); --minor) {
        const auto suffix = "_" + std::to_string(major) + "_" + std::to_string(minor);
        if (library.find("__nvJitLinkCreate" + suffix) != nullptr) {
          suffix_ = suffix;
          version = std::to_string(major) + "." + std::to_string(minor);
        }
      }
    }
  }

  template <typename... Arguments>
  Result operator()(const char* name, Arguments... arguments) const {
    return library_.get<Result(Arguments...)>("__nvJitLink" + std::string(name) +
                                              suffix_)(arguments...);
  }

  /// What it says of a failure.
  [[nodiscard]] std::string log(Handle handle) const {
    std::size_t size = 0;
    (*this)("GetErrorLogSize", handle, &size);
    std::string text(size, '\0');
    (*this)("GetErrorLog", handle, text.data());
    text.resize(std::string_view(text.c_str()).size());
    return text;
  }

  std::string version = "unknown";

 private:
  const Library& library_;
  std::string suffix_;
};

}  // namespace

void run_jit_link(const Library& library, const char* input, const char* output,
                  const std::vector<std::string>& options) {
  const JitLink call(library);
  const std::string version = "nvJitLink " + call.version;
  if (input == nullptr) finish(exit_compiled, version + "\n");

  const std::string source = read_text(input);
  std::vector<const char*> pointers;
  for (const auto& option : options) pointers.push_back(option.c_str());
  Handle handle = nullptr;
  if (call("Create", &handle, static_cast<unsigned>(pointers.size()), pointers.data()) != success) {
    finish(exit_target,
           version + " refuses the options" + (options.empty() ? "" : " " + options.front()));
  }
  // The zero at the end counts.
  if (call("AddData", handle, input_ptx, static_cast<const void*>(source.c_str()),
           source.size() + 1, input) != success ||
      call("Complete", handle) != success) {
    const auto log = call.log(handle);
    finish(exit_source, log.empty() ? version + " refuses the PTX without a word\n" : log);
  }
  std::size_t size = 0;
  call("GetLinkedCubinSize", handle, &size);
  std::vector<char> cubin(size);
  call("GetLinkedCubin", handle, static_cast<void*>(cubin.data()));
  write_bytes(output, cubin);
  finish(exit_compiled, "");
}

}  // namespace ouroboros::cuda
