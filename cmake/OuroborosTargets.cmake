# Warnings and sanitizers for every target of this project, and for no consumer's.
#
# NO_SANITIZE is for the helper programs: a sanitizer's runtime makes system calls, which end a
# sealed process, and reserves address space, which a sandboxed one has not got.
function(ouroboros_target_defaults target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_SANITIZE" "" "")
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
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
