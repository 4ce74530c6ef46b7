// shift_add, vector: four integers a load where they are aligned, the tail one by one.
//
//! dtypes float32
//! launch shift_add<<<max(1, cdiv(n, 1024)), 256>>>(x, y, out, n)

__device__ int one(int x, int y) { return (x << 3) + (y >> 2) - 7; }

extern "C" __global__ void shift_add(const int* x, const int* y, int* out, int n) {
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  const bool aligned =
      ((reinterpret_cast<unsigned long long>(x) | reinterpret_cast<unsigned long long>(y) |
        reinterpret_cast<unsigned long long>(out)) &
       15) == 0;
  if (aligned && i + 3 < n) {
    const int4 a = *reinterpret_cast<const int4*>(x + i);
    const int4 b = __ldg(reinterpret_cast<const int4*>(y + i));
    *reinterpret_cast<int4*>(out + i) =
        make_int4(one(a.x, b.x), one(a.y, b.y), one(a.z, b.z), one(a.w, b.w));
  } else {
    for (int j = i; j < min(n, i + 4); ++j) out[j] = one(x[j], y[j]);
  }
}
