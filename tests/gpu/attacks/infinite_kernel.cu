// Attack: infinite_kernel
//
// Tries: never ends.
// Gains: Holds the device; a worker without a time limit waits for ever.
// Threats: X4, P23
// Answer: Replays have a limit, and an executor that is late is killed with its context.
//
//! dtypes float32
//! launch softmax<<<rows, 32>>>(x, out, cols)

extern "C" __global__ void softmax(const float* x, float* out, int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  volatile float* late = out + first;
  while (late[0] != 123456.0f) late[0] = x[first];
}
