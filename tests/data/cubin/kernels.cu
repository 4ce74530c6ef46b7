// What the reader of cubins is tested with. The .cubin files beside it were made from it:
//   nvcc 13.0:   nvcc -arch=sm_90 -cubin -o cuda13_sm_90.cubin kernels.cu
//   ptxas 12.9:  nvcc -arch=sm_90a -ptx kernels.cu, ".version" set to 8.8, and then
//                ptxas -arch=sm_90a -o cuda12_sm_90a.cubin kernels.ptx

extern "C" __global__ void scale(float* out, const float* x, float factor, int size) {
  __shared__ float tile[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  tile[threadIdx.x] = i < size ? x[i] : 0.0f;
  __syncthreads();
  if (i < size) out[i] = factor * tile[255 - threadIdx.x];
}

struct Values {
  double x[3];
  int n;
};

// Dynamic shared memory, and a parameter that is a structure.
extern "C" __global__ void mixed(double* out, Values values, char mark, long long tail) {
  extern __shared__ double parts[];
  parts[threadIdx.x] = values.x[0] * values.x[2] + mark;
  __syncthreads();
  out[threadIdx.x] = parts[values.n] + tail;
}

// More values at a time than 32 registers hold.
extern "C" __global__ void __launch_bounds__(1024, 2) spills(float* out, const float* x) {
  float r[36];
#pragma unroll
  for (int i = 0; i < 36; ++i) r[i] = x[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 36; ++i) out[i * 1024 + threadIdx.x] = r[i] * r[(i * 7 + 1) % 36];
}

struct Table {
  int entries[1030];
};

// Past 4 KiB parameters are declared in another form.
extern "C" __global__ void large(int* out, const __grid_constant__ Table table, int add) {
  out[threadIdx.x] = table.entries[threadIdx.x] + add;
}

extern "C" __global__ void nothing() {}
