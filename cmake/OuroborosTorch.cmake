# Defines ouroboros::torch from the PyTorch that the active Python imports.
#
# find_package(Torch) of a CUDA build demands a CUDA toolkit even for host-only code, and would put
# CUDA libraries into DT_NEEDED. Two libraries and the headers are all that is needed here.
#
# With OUROBOROS_TORCH_OPTIONAL a missing PyTorch leaves the target undefined and the reason in
# OUROBOROS_TORCH_PROBLEM; otherwise it is an error.
if(TARGET ouroboros::torch)
  return()
endif()

find_package(Python 3.10 QUIET COMPONENTS Interpreter)
set(OUROBOROS_TORCH_PROBLEM "")
if(NOT Python_Interpreter_FOUND)
  set(OUROBOROS_TORCH_PROBLEM "The referee needs PyTorch, and no Python 3.10 or later was found.")
else()
  # numpy's absence makes `import torch` warn on stderr, which is of no interest here.
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c
            "import torch, os; p = os.path.dirname(torch.__file__); print(p, torch.__version__, int(torch._C._GLIBCXX_USE_CXX11_ABI), sep=';')"
    OUTPUT_VARIABLE ouroboros_torch OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE ouroboros_torch_result ERROR_VARIABLE ouroboros_torch_error)
  if(NOT ouroboros_torch_result EQUAL 0)
    string(CONCAT OUROBOROS_TORCH_PROBLEM
      "The referee needs PyTorch, and ${Python_EXECUTABLE} cannot import it.\n"
      "Install it there (pip install torch), point CMake to another interpreter with "
      "-DPython_EXECUTABLE=..., or do without the referee (OUROBOROS_WITH_TORCH=OFF, "
      "COMPONENTS replay).\n"
      "${ouroboros_torch_error}")
  endif()
endif()
if(OUROBOROS_TORCH_PROBLEM)
  if(OUROBOROS_TORCH_OPTIONAL)
    return()
  endif()
  message(FATAL_ERROR "${OUROBOROS_TORCH_PROBLEM}")
endif()

list(GET ouroboros_torch 0 OUROBOROS_TORCH_ROOT)
list(GET ouroboros_torch 1 OUROBOROS_TORCH_VERSION)
list(GET ouroboros_torch 2 ouroboros_torch_cxx11_abi)
if(NOT OUROBOROS_TORCH_OPTIONAL)
  message(STATUS "PyTorch ${OUROBOROS_TORCH_VERSION} in ${OUROBOROS_TORCH_ROOT}")
endif()

add_library(ouroboros::torch INTERFACE IMPORTED GLOBAL)
target_include_directories(ouroboros::torch SYSTEM INTERFACE
  "${OUROBOROS_TORCH_ROOT}/include" "${OUROBOROS_TORCH_ROOT}/include/torch/csrc/api/include")
target_compile_definitions(ouroboros::torch INTERFACE
  _GLIBCXX_USE_CXX11_ABI=${ouroboros_torch_cxx11_abi})
target_compile_features(ouroboros::torch INTERFACE cxx_std_20)
target_link_libraries(ouroboros::torch INTERFACE
  "${OUROBOROS_TORCH_ROOT}/lib/libtorch_cpu.so" "${OUROBOROS_TORCH_ROOT}/lib/libc10.so")
# A CUDA build's libtorch_cpu.so needs CUDA libraries that only the loader can find.
target_link_options(ouroboros::torch INTERFACE LINKER:--allow-shlib-undefined)
