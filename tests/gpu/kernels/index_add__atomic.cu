// index_add, atomic: a copy of the base, and an atomic an element.
//
//! dtypes float32
//! copy out = base
//! launch index_add<<<(n, cdiv(width, 128)), 128>>>(index, source, out, width)

extern "C" __global__ void index_add(const long long* index, const float* source, float* out,
                                     int width) {
  const int col = blockIdx.y * blockDim.x + threadIdx.x;
  if (col >= width) return;
  atomicAdd(out + index[blockIdx.x] * width + col, source[size_t(blockIdx.x) * width + col]);
}
