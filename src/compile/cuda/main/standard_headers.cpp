#include "compile/cuda/main/standard_headers.hpp"

namespace ouroboros::cuda {
namespace {

// Nothing of libcu++, which takes a second to compile. Types are those that it declares under
// NVRTC, since a source may include <cuda/std/cstdint> as well. Macros may be defined again: 47 is
// the warning about that. What is in `std` is constrained, and so preferred to what `using
// namespace cuda::std` adds.
constexpr const char* implicit = R"(#pragma once
#pragma nv_diag_suppress 47

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef int64_t intptr_t;
typedef int64_t intmax_t;
typedef uint64_t uintptr_t;
typedef uint64_t uintmax_t;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define UCHAR_MAX 255
#define CHAR_MAX SCHAR_MAX
#define CHAR_MIN SCHAR_MIN
#define SHRT_MAX 0x7fff
#define SHRT_MIN (-SHRT_MAX - 1)
#define USHRT_MAX 0xffff
#define INT_MAX 0x7fffffff
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 0xffffffff
#define LONG_MAX 0x7fffffffffffffffL
#define LONG_MIN (-LONG_MAX - 1)
#define ULONG_MAX 0xffffffffffffffffUL
#define LLONG_MAX 0x7fffffffffffffffLL
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX 0xffffffffffffffffULL

#define INT8_MAX SCHAR_MAX
#define INT8_MIN SCHAR_MIN
#define INT16_MAX SHRT_MAX
#define INT16_MIN SHRT_MIN
#define INT32_MAX INT_MAX
#define INT32_MIN INT_MIN
#define INT64_MAX LLONG_MAX
#define INT64_MIN LLONG_MIN
#define UINT8_MAX UCHAR_MAX
#define UINT16_MAX USHRT_MAX
#define UINT32_MAX UINT_MAX
#define UINT64_MAX ULLONG_MAX
#define INTPTR_MAX INT64_MAX
#define INTPTR_MIN INT64_MIN
#define UINTPTR_MAX UINT64_MAX
#define PTRDIFF_MAX INT64_MAX
#define PTRDIFF_MIN INT64_MIN
#define SIZE_MAX UINT64_MAX

#define FLT_RADIX 2
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MIN_EXP (-125)
#define FLT_MAX_EXP 128
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1p-126f
#define FLT_TRUE_MIN 0x1p-149f
#define FLT_EPSILON 0x1p-23f
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#define DBL_MIN_EXP (-1021)
#define DBL_MAX_EXP 1024
#define DBL_MAX 0x1.fffffffffffffp1023
#define DBL_MIN 0x1p-1022
#define DBL_TRUE_MIN 0x1p-1074
#define DBL_EPSILON 0x1p-52

#define INFINITY __builtin_bit_cast(float, 0x7f800000)
#define NAN __builtin_bit_cast(float, 0x7fc00000)
#define HUGE_VALF INFINITY
#define HUGE_VAL double(INFINITY)
#define M_E 2.71828182845904523536
#define M_LOG2E 1.44269504088896340736
#define M_LOG10E 0.434294481903251827651
#define M_LN2 0.693147180559945309417
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.785398163397448309616
#define M_1_PI 0.318309886183790671538
#define M_2_PI 0.636619772367581343076
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.707106781186547524401

// As the host's library, functions of real numbers take integers for doubles.
namespace ouroboros {
template <class T> constexpr bool is_integer = false;
template <> constexpr bool is_integer<int> = true;
template <> constexpr bool is_integer<unsigned> = true;
template <> constexpr bool is_integer<long> = true;
template <> constexpr bool is_integer<unsigned long> = true;
template <> constexpr bool is_integer<long long> = true;
template <> constexpr bool is_integer<unsigned long long> = true;
}
#define OUROBOROS_OF_INTEGERS(name)                            \
  template <class T> requires ouroboros::is_integer<T>         \
  double name(T x) { return name(double(x)); }                 \
  namespace std { using ::name; }
OUROBOROS_OF_INTEGERS(acos) OUROBOROS_OF_INTEGERS(acosh) OUROBOROS_OF_INTEGERS(asin)
OUROBOROS_OF_INTEGERS(asinh) OUROBOROS_OF_INTEGERS(atan) OUROBOROS_OF_INTEGERS(atanh)
OUROBOROS_OF_INTEGERS(cbrt) OUROBOROS_OF_INTEGERS(ceil) OUROBOROS_OF_INTEGERS(cos)
OUROBOROS_OF_INTEGERS(cosh) OUROBOROS_OF_INTEGERS(erf) OUROBOROS_OF_INTEGERS(erfc)
OUROBOROS_OF_INTEGERS(exp) OUROBOROS_OF_INTEGERS(exp2) OUROBOROS_OF_INTEGERS(expm1)
OUROBOROS_OF_INTEGERS(fabs) OUROBOROS_OF_INTEGERS(floor) OUROBOROS_OF_INTEGERS(lgamma)
OUROBOROS_OF_INTEGERS(log) OUROBOROS_OF_INTEGERS(log10) OUROBOROS_OF_INTEGERS(log1p)
OUROBOROS_OF_INTEGERS(log2) OUROBOROS_OF_INTEGERS(logb) OUROBOROS_OF_INTEGERS(nearbyint)
OUROBOROS_OF_INTEGERS(rint) OUROBOROS_OF_INTEGERS(round) OUROBOROS_OF_INTEGERS(sin)
OUROBOROS_OF_INTEGERS(sinh) OUROBOROS_OF_INTEGERS(sqrt) OUROBOROS_OF_INTEGERS(tan)
OUROBOROS_OF_INTEGERS(tanh) OUROBOROS_OF_INTEGERS(tgamma) OUROBOROS_OF_INTEGERS(trunc)
#undef OUROBOROS_OF_INTEGERS

namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;
using ::intptr_t; using ::intmax_t; using ::uintptr_t; using ::uintmax_t;
using ::size_t; using ::ptrdiff_t; typedef decltype(nullptr) nullptr_t;

using ::abs; using ::labs; using ::llabs; using ::atan2; using ::copysign; using ::fdim;
using ::fma; using ::fmax; using ::fmin; using ::fmod; using ::frexp; using ::hypot;
using ::ilogb; using ::isfinite; using ::isinf; using ::isnan; using ::ldexp; using ::llrint;
using ::llround; using ::lrint; using ::lround; using ::modf; using ::nan; using ::nextafter;
using ::pow; using ::remainder; using ::remquo; using ::scalbln; using ::scalbn;
using ::signbit;
using ::acosf; using ::asinf; using ::atanf; using ::atan2f; using ::ceilf; using ::cosf;
using ::expf; using ::exp2f; using ::fabsf; using ::floorf; using ::fmaxf; using ::fminf;
using ::fmodf; using ::logf; using ::log2f; using ::powf; using ::roundf; using ::sinf;
using ::sqrtf; using ::tanf; using ::tanhf; using ::truncf;
using ::free; using ::malloc; using ::memcpy; using ::memset; using ::printf;

template <class T> requires true
constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <class T, class Less> requires true
constexpr const T& min(const T& a, const T& b, Less less) { return less(b, a) ? b : a; }
template <class T> requires true
constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T, class Less> requires true
constexpr const T& max(const T& a, const T& b, Less less) { return less(a, b) ? b : a; }
template <class T> requires true
constexpr const T& clamp(const T& x, const T& low, const T& high) {
  return x < low ? low : high < x ? high : x;
}
template <class T> requires true
constexpr void swap(T& a, T& b) {
  T old = static_cast<T&&>(a);
  a = static_cast<T&&>(b);
  b = static_cast<T&&>(old);
}
}
)";

constexpr const char* algorithm = R"(#pragma once
#include <cuda/std/initializer_list>
namespace std {
template <class T> requires true
constexpr T (min)(initializer_list<T> all) {
  T least = *all.begin();
  for (const T& one : all) least = one < least ? one : least;
  return least;
}
template <class T> requires true
constexpr T (max)(initializer_list<T> all) {
  T most = *all.begin();
  for (const T& one : all) most = most < one ? one : most;
  return most;
}
}
)";

constexpr const char* tensor_map = R"(#pragma once
typedef struct alignas(64) CUtensorMap_st {
  uint64_t opaque[16];
} CUtensorMap;
)";

/// Of <cub/cub.cuh>, which a source for nvcc includes, what is for blocks, warps and threads: the
/// rest launches kernels from the host.
constexpr const char* of_cub[] = {
    "block/block_adjacent_difference",
    "block/block_discontinuity",
    "block/block_exchange",
    "block/block_histogram",
    "block/block_load",
    "block/block_merge_sort",
    "block/block_radix_sort",
    "block/block_reduce",
    "block/block_run_length_decode",
    "block/block_scan",
    "block/block_shuffle",
    "block/block_store",
    "thread/thread_load",
    "thread/thread_operators",
    "thread/thread_reduce",
    "thread/thread_scan",
    "thread/thread_search",
    "thread/thread_store",
    "util_ptx",
    "util_type",
    "warp/warp_exchange",
    "warp/warp_load",
    "warp/warp_merge_sort",
    "warp/warp_reduce",
    "warp/warp_scan",
    "warp/warp_store",
};

/// Everything in these is in NVRTC, or in the implicit header.
constexpr const char* no_text[] = {
    "assert.h", "cassert",  "cfloat",  "climits",  "cmath",    "cstddef", "cstdint",
    "cstdio",   "cstdlib",  "cstring", "float.h",  "limits.h", "math.h",  "memory.h",
    "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h",
};

/// These are libcu++'s, which calls their namespace `cuda::std`.
constexpr const char* of_libcudacxx[] = {
    "array",  "bit",     "complex",  "concepts", "functional", "initializer_list", "iterator",
    "limits", "numeric", "optional", "span",     "tuple",      "type_traits",      "utility",
};

/// The toolkit's own. The headers that NVRTC brings are without them.
constexpr const char* of_runtime[] = {"cuda_runtime.h", "cuda_runtime_api.h",
                                      "device_launch_parameters.h", "driver_types.h",
                                      "vector_functions.h"};

}  // namespace

std::map<std::string, std::string> standard_headers(bool has_folders) {
  std::map<std::string, std::string> headers = {
      {implicit_header, implicit}, {"algorithm", algorithm}, {"cuda.h", tensor_map}};
  for (const std::string name : no_text) headers[name] = "";
  for (const std::string name : of_libcudacxx) {
    headers[name] =
        "#include <cuda/std/" + name + ">\nnamespace std { using namespace cuda::std; }\n";
  }
  auto& cub = headers["cub/cub.cuh"];
  for (const std::string name : of_cub) {
    const auto header = "<cub/" + name + ".cuh>";
    cub += "#if __has_include(" + header + ")\n#include " + header + "\n#endif\n";
  }
  for (const char* name : of_runtime) {
    if (!has_folders) headers[name] = "";
  }
  return headers;
}

}  // namespace ouroboros::cuda
