# For a target that includes LibTorch, whose headers take longer than what is in most sources.
# Before ouroboros_target_defaults.
function(ouroboros_target_unity target)
  if(OUROBOROS_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# Warnings and sanitizers for every target of this project, and for no consumer's.
#
# NO_SANITIZE is for the helper programs: a sanitizer's runtime makes system calls, which end a
# sealed process, and reserves address space, which a sandboxed one has not got.
function(ouroboros_target_defaults target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_SANITIZE" "" "")
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wnon-virtual-dtor)
  get_target_property(unity ${target} UNITY_BUILD)
  if(NOT unity)
    target_compile_options(${target} PRIVATE -Wshadow)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Names of the other sources that are compiled with one are not its concern.
    target_compile_options(${target} PRIVATE -Wshadow=local)
  endif()
  # GCC 12 sees overlapping copies in `std::string` that are not there (GCC bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  # GCC 13 sees the big integers of fmt 9 copied from and to beyond their ends, which they are not.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow)
  endif()
  if(OUROBOROS_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(OUROBOROS_SANITIZE AND NOT arg_NO_SANITIZE)
    list(JOIN OUROBOROS_SANITIZE "," sanitizers)
    target_compile_options(${target} PRIVATE
      -fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${sanitizers})
  endif()
endfunction()
