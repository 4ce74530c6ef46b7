"""CUDA C++ by load_inline, on two streams that are joined."""

from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <c10/cuda/CUDAStream.h>
#include <ATen/cuda/CUDAEvent.h>
__global__ void swiglu(const float* gate, const float* up, float* out, long n) {
  for (long i = blockIdx.x * 256l + threadIdx.x; i < n; i += gridDim.x * 256l)
    out[i] = gate[i] / (1 + expf(-gate[i])) * up[i];
}
void launch(const float* gate, const float* up, float* out, long n, cudaStream_t stream) {
  if (n > 0) swiglu<<<(n + 255) / 256, 256, 0, stream>>>(gate, up, out, n);
}
torch::Tensor halves(torch::Tensor gate, torch::Tensor up) {
  auto out = torch::empty_like(gate);
  const long n = gate.numel(), half = n / 2;
  const float *g = gate.data_ptr<float>(), *u = up.data_ptr<float>();
  float* o = out.data_ptr<float>();
  auto main = c10::cuda::getCurrentCUDAStream();
  auto side = c10::cuda::getStreamFromPool();
  at::cuda::CUDAEvent fork, join;
  fork.record(main);
  fork.block(side);
  launch(g, u, o, half, side);
  launch(g + half, u + half, o + half, n - half, main);
  join.record(side);
  join.block(main);
  return out;
}
"""
module = load_inline(
    "swiglu_halves",
    cpp_sources="torch::Tensor halves(torch::Tensor gate, torch::Tensor up);",
    cuda_sources=CUDA,
    functions=["halves"],
)


def run(gate, up):
    return module.halves(gate, up)
