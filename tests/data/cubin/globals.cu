// Variables that outlive a launch, for the reader of cubins and for the executor. The .cubin file
// beside it was made from it by NVRTC 13.5 with -arch=sm_90.

extern "C" {

__device__ unsigned counter;
static __device__ unsigned table[16];

__global__ void remember(const float* x, float* out, unsigned n) {
  for (unsigned i = 0; i < n; ++i) out[i] = 2 * x[i];
  out[0] = ++counter;
  table[n % 16] += n;
  out[1] += table[(n + 1) % 16];
}

}
