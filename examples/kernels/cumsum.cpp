// Running sums of each row. One sum waits for the last, so eight rows run at the same time.
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

constexpr int64_t abreast = 8;

// `count` rows, summed in double whatever the type: rounding errors would pile up otherwise.
template <class W, class T>
inline void scan(const T* x, T* out, int64_t count, int64_t cols) {
  double sums[abreast] = {};
  W block[abreast][lanes<W>];
  for (int64_t i = 0; i < cols; i += lanes<W>) {
    for (int64_t k = 0; k < count; ++k) store(block[k], load<W>(x + k * cols + i, cols - i, T{}));
    for (int64_t j = 0; j < lanes<W>; ++j) {
      for (int64_t k = 0; k < count; ++k) {
        sums[k] += block[k][j];
        block[k][j] = static_cast<W>(sums[k]);
      }
    }
    for (int64_t k = 0; k < count; ++k) store<W>(out + k * cols + i, cols - i, load(block[k]));
  }
}

template <class W, class T>
void cumsum(const T* x, T* out, int64_t rows, int64_t cols) {
  int64_t row = 0;
  for (; row + abreast <= rows; row += abreast) {
    scan<W>(x + row * cols, out + row * cols, abreast, cols);
  }
  for (; row < rows; ++row) scan<W>(x + row * cols, out + row * cols, 1, cols);
}

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  cumsum<float>(x, out, rows, cols);
}

extern "C" void run_float64(const double* x, double* out, int64_t rows, int64_t cols) {
  cumsum<double>(x, out, rows, cols);
}

extern "C" void run_float16(const _Float16* x, _Float16* out, int64_t rows, int64_t cols) {
  cumsum<float>(x, out, rows, cols);
}
