/// A CUDA driver that finds no GPU.
///
/// It is preloaded into a tracer's zygote under the real one's name: PyTorch's CUDA build
/// initialises the driver even for tensors without memory, which starts a thread, and a process
/// with threads cannot be forked. It also keeps candidates' host code away from the GPU.

extern "C" {

#define OUROBOROS_EXPORT __attribute__((visibility("default")))

constexpr int no_device = 100;  // CUDA_ERROR_NO_DEVICE

OUROBOROS_EXPORT int cuInit(unsigned) { return no_device; }

OUROBOROS_EXPORT int cuDriverGetVersion(int* version) {
  *version = 0;
  return 0;
}

OUROBOROS_EXPORT int cuDeviceGetCount(int* count) {
  *count = 0;
  return no_device;
}
}
