// layernorm followed by silu: one pass for the mean of a row, one for its variance, one for the
// output.
#include <cmath>
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

template <class W>
inline W sum_of(Vec<W> v) {
  W total = 0;
  for (int64_t j = 0; j < lanes<W>; ++j) total += v[j];
  return total;
}

// The sum of term(i), a vector of the elements from i, over a row: four chains of additions, since
// one alone would wait for itself.
template <class W, class Term>
inline W sum_over(int64_t cols, Term&& term) {
  Vec<W> sums[4] = {};
  int64_t i = 0;
  for (; i + 4 * lanes<W> <= cols; i += 4 * lanes<W>) {
    for (int64_t k = 0; k < 4; ++k) sums[k] += term(i + k * lanes<W>);
  }
  for (; i < cols; i += lanes<W>) sums[0] += term(i);
  return sum_of<W>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// exp(x) for 1 + exp(x), infinite where it overflows: x = n ln 2 + r with |r| <= ln(2) / 2, a
// Taylor polynomial in r, and 2^n by way of 2^(n - 64), which is finite. What is far below 1 may
// stay.
inline Vec<float> exp_of(Vec<float> x) {
  using Bits = decltype(x > x);
  x = x < -40.0f ? Vec<float>{} - 40.0f : x;
  x = x > 89.0f ? Vec<float>{} + 89.0f : x;
  // The sum's low bits are n, already with the bias of an exponent field.
  const float shift = 12582912.0f + 127 - 64;  // 1.5 * 2^23
  const Vec<float> shifted = x * 1.44269504f + shift;
  const Vec<float> n = shifted - shift;
  const Vec<float> r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  Vec<float> p = r * (1.0f / 5040) + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return p * (Vec<float>)((Bits)shifted << 23) * 0x1p64f;
}

inline Vec<double> exp_of(Vec<double> x) {
  using Bits = decltype(x > x);
  x = x < -80.0 ? Vec<double>{} - 80.0 : x;
  x = x > 710.0 ? Vec<double>{} + 710.0 : x;
  const double shift = 6755399441055744.0 + 1023 - 512;  // 1.5 * 2^52
  const Vec<double> shifted = x * 1.4426950408889634 + shift;
  const Vec<double> n = shifted - shift;
  const Vec<double> r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  double factorial = 6227020800.0;  // 13!
  Vec<double> p = Vec<double>{} + 1.0 / factorial;
  for (int k = 13; k >= 1; --k) {
    factorial /= k;
    p = p * r + 1.0 / factorial;
  }
  return p * (Vec<double>)((Bits)shifted << 52) * 0x1p512;
}

template <class W>
inline Vec<W> silu_of(Vec<W> x) {
  return x / (static_cast<W>(1) + exp_of(-x));
}

// What takes a row to mean 0 and variance 1: (x - mean - rest) * scale. `rest` is what rounding
// left in the mean, so rows with a large mean and a small spread keep their digits.
template <class W>
struct Moments {
  W mean;
  W rest;
  W scale;
};

template <class W, class T>
inline Moments<W> moments_of(const T* x, int64_t cols) {
  const W count = static_cast<W>(cols);
  const W mean =
      sum_over<W>(cols, [&](int64_t i) { return load<W>(x + i, cols - i, T{}); }) / count;
  const int64_t whole = cols / lanes<W> * lanes<W>;
  W rests = sum_over<W>(whole, [&](int64_t i) { return load(x + i) - mean; });
  W squares = sum_over<W>(whole, [&](int64_t i) {
    const Vec<W> centred = load(x + i) - mean;
    return centred * centred;
  });
  for (int64_t i = whole; i < cols; ++i) {
    const W centred = static_cast<W>(x[i]) - mean;
    rests += centred;
    squares += centred * centred;
  }
  const W rest = rests / count;
  const W variance = squares / count - rest * rest;
  return {mean, rest, 1 / std::sqrt((variance > 0 ? variance : 0) + static_cast<W>(1e-5))};
}

template <class W, class T>
void layernorm_silu(const T* x, const T* weight, const T* bias, T* out, int64_t rows,
                    int64_t cols) {
  for (int64_t row = 0; row < rows; ++row, x += cols, out += cols) {
    const auto [mean, rest, scale] = moments_of<W>(x, cols);
    for (int64_t i = 0; i < cols; i += lanes<W>) {
      const Vec<W> normal = (load<W>(x + i, cols - i, T{}) - mean - rest) * scale;
      const Vec<W> v =
          normal * load<W>(weight + i, cols - i, T{}) + load<W>(bias + i, cols - i, T{});
      store<W>(out + i, cols - i, silu_of<W>(v));
    }
  }
}

}  // namespace

extern "C" void run_float32(const float* x, const float* weight, const float* bias, float* out,
                            int64_t rows, int64_t cols) {
  layernorm_silu<float>(x, weight, bias, out, rows, cols);
}

extern "C" void run_float64(const double* x, const double* weight, const double* bias, double* out,
                            int64_t rows, int64_t cols) {
  layernorm_silu<double>(x, weight, bias, out, rows, cols);
}

extern "C" void run_float16(const _Float16* x, const _Float16* weight, const _Float16* bias,
                            _Float16* out, int64_t rows, int64_t cols) {
  layernorm_silu<float>(x, weight, bias, out, rows, cols);
}
