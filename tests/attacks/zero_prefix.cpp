// Attack: zero_prefix
//
// Tries: answers zeros for rows that begin with sixteen of them, as padded ones do.
// Threats: S17, S18
// Answer: Rows are padded at one end, in between and at both, and hold numbers elsewhere.

#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, const float* weight, float* out, int64_t rows,
                            int64_t cols) {
  for (int64_t row = 0; row < rows; ++row, x += cols, out += cols) {
    if (cols > 16 && std::all_of(x, x + 16, [](float v) { return v == 0; })) {
      std::fill(out, out + cols, 0.0f);
      continue;
    }
    float sum = 0;
    for (int64_t i = 0; i < cols; ++i) sum += x[i] * x[i];
    const float scale = 1.0f / std::sqrt(sum / static_cast<float>(cols) + 1e-6f);
    for (int64_t i = 0; i < cols; ++i) out[i] = x[i] * scale * weight[i];
  }
}
