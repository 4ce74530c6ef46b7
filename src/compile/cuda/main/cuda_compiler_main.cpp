// ouroboros-cuda-compiler: makes a cubin from CUDA C++ or PTX with one of NVIDIA's libraries.
//
//   ouroboros-cuda-compiler nvrtc LIBRARY SOURCE CUBIN [OPTION]...
//   ouroboros-cuda-compiler nvjitlink LIBRARY PTX CUBIN [OPTION]...
//
// NVRTC's PTX is written as well, to the cubin's name with the ending .ptx. Without SOURCE it says
// the library's version. It is a program of its own because compilers read what machines wrote: it
// runs in a sandbox, and takes a crash or a runaway template with it.

#include <string>
#include <string_view>
#include <vector>

#include "compile/cuda/main/exit_code.hpp"
#include "compile/cuda/main/library.hpp"

int main(int count, char** values) {
  using namespace ouroboros::cuda;
  const std::string_view kind = count > 1 ? values[1] : "";
  if ((kind != "nvrtc" && kind != "nvjitlink") || count < 3 || count == 4) {
    finish(exit_library,
           "usage: ouroboros-cuda-compiler nvrtc|nvjitlink LIBRARY [SOURCE CUBIN [OPTION]...]\n");
  }
  const Library library(values[2]);
  const char* input = count > 4 ? values[3] : nullptr;
  const char* output = count > 4 ? values[4] : nullptr;
  std::vector<std::string> options(values + (count > 5 ? 5 : count), values + count);
  if (kind == "nvrtc") run_nvrtc(library, input, output, std::move(options));
  run_jit_link(library, input, output, options);
}
