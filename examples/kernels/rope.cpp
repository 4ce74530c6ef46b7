// Rotary embedding: the two halves of a row are the coordinates that are turned.
#include <cstdint>
#include <cstring>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace {

using std::int64_t;

#if defined(__AVX512F__)
constexpr int64_t vector_bytes = 64;
#elif defined(__AVX__)
constexpr int64_t vector_bytes = 32;
#else
constexpr int64_t vector_bytes = 16;
#endif

// Values are computed in W: float for float16 and float32, double for float64.
template <class W>
struct Vector {
  typedef W type __attribute__((vector_size(vector_bytes)));
};
template <class W>
using Vec = typename Vector<W>::type;
template <class W>
constexpr int64_t lanes = vector_bytes / sizeof(W);

template <class W>
inline Vec<W> load(const W* p) {
  Vec<W> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <class W>
inline void store(W* p, Vec<W> v) {
  std::memcpy(p, &v, sizeof v);
}

inline Vec<float> load(const _Float16* p) {
  Vec<float> v;
#if defined(__AVX512F__)
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  v = (Vec<float>)_mm512_maskz_cvtph_ps(0xffff, halves);
#elif defined(__F16C__)
  v = (Vec<float>)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#else
  for (int64_t j = 0; j < lanes<float>; ++j) v[j] = static_cast<float>(p[j]);
#endif
  return v;
}

inline void store(_Float16* p, Vec<float> v) {
#if defined(__AVX512F__)
  // 0: to nearest, ties to even.
  const __m256i halves = _mm512_maskz_cvtps_ph(0xffff, (__m512)v, 0);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), halves);
#elif defined(__F16C__)
  const __m128i halves = _mm256_cvtps_ph((__m256)v, 0);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), halves);
#else
  for (int64_t j = 0; j < lanes<float>; ++j) p[j] = static_cast<_Float16>(v[j]);
#endif
}

// The first `left` lanes from memory, and `fill` in those past the end of the row.
template <class W, class T>
inline Vec<W> load(const T* p, int64_t left, T fill) {
  if (left >= lanes<W>) [[likely]]
    return load(p);
  T block[lanes<W>];
  for (int64_t j = 0; j < lanes<W>; ++j) block[j] = j < left ? p[j] : fill;
  return load(block);
}

template <class W, class T>
inline void store(T* p, int64_t left, Vec<W> v) {
  if (left >= lanes<W>) [[likely]]
    return store(p, v);
  T block[lanes<W>];
  store(block, v);
  for (int64_t j = 0; j < left; ++j) p[j] = block[j];
}

template <class W, class T>
void rope(const T* x, const T* cos, const T* sin, T* out, int64_t rows, int64_t half) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < half; i += lanes<W>) {
      const int64_t left = half - i;
      const Vec<W> a = load<W>(x + i, left, T{});
      const Vec<W> b = load<W>(x + half + i, left, T{});
      const Vec<W> c = load<W>(cos + i, left, T{});
      const Vec<W> s = load<W>(sin + i, left, T{});
      store<W>(out + i, left, a * c - b * s);
      store<W>(out + half + i, left, b * c + a * s);
    }
    x += 2 * half;
    out += 2 * half;
    cos += half;
    sin += half;
  }
}

}  // namespace

extern "C" void run_float32(const float* x, const float* cos, const float* sin, float* out,
                            int64_t rows, int64_t half) {
  rope<float>(x, cos, sin, out, rows, half);
}

extern "C" void run_float64(const double* x, const double* cos, const double* sin, double* out,
                            int64_t rows, int64_t half) {
  rope<double>(x, cos, sin, out, rows, half);
}

extern "C" void run_float16(const _Float16* x, const _Float16* cos, const _Float16* sin,
                            _Float16* out, int64_t rows, int64_t half) {
  rope<float>(x, cos, sin, out, rows, half);
}
