// Kernels for the GPU tests of the CUDA executor. All begin with (x, out, n).

#include <cassert>
#include <cstdint>
#include <cstdio>

extern "C" {

__global__ void scale(const float* x, float* out, std::uint32_t n) {
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    out[i] = 2 * x[i];
  }
}

/// The same result, with so many passes over the data.
__device__ void pass_over(const float* x, float* out, std::uint32_t n, std::uint32_t passes) {
  for (std::uint32_t pass = 0; pass < passes; ++pass) {
    for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x) {
      float value;
      asm volatile("ld.global.f32 %0, [%1];" : "=f"(value) : "l"(x + i));
      asm volatile("st.global.f32 [%0], %1;" ::"l"(out + i), "f"(2 * value) : "memory");
    }
  }
}

__global__ void work(const float* x, float* out, std::uint32_t n, std::uint32_t passes) {
  pass_over(x, out, n, passes);
}

// Changes a byte, so that it cannot happen to write the canary that is there.
__global__ void poke(const float*, float* out, std::uint32_t, std::int64_t offset) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    auto* byte = reinterpret_cast<volatile unsigned char*>(out) + offset;
    *byte = *byte ^ 0x5a;
  }
}

__global__ void peek(const float* x, float* out, std::uint32_t, std::int64_t offset) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    out[0] = reinterpret_cast<const volatile unsigned char*>(x)[offset];
  }
}

__global__ void write_input(float* x, float*, std::uint32_t) {
  if (threadIdx.x == 0) {
    *const_cast<volatile float*>(x) = 1;
  }
}

__global__ void hang(const float* x, float* out, std::uint32_t) {
  while (*const_cast<const volatile float*>(x) != -1) {
  }
  out[0] = 1;
}

__global__ void trap(const float*, float*, std::uint32_t) { __trap(); }

__global__ void fail_assertion(const float* x, float*, std::uint32_t) { assert(x[0] == -1); }

__global__ void misaligned(const float*, float* out, std::uint32_t) {
  *reinterpret_cast<volatile float*>(reinterpret_cast<char*>(out) + 1) = 1;
}

/// Each block writes its rank in the cluster to its elements.
__global__ void rank_in_cluster(const float*, float* out, std::uint32_t n) {
  std::uint32_t rank = 0;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = static_cast<float>(rank);
  }
}

/// All blocks meet at a counter before any goes on: needs them all resident.
__global__ void meet(const float* x, float* out, std::uint32_t n, std::uint32_t* counter) {
  if (threadIdx.x == 0) {
    atomicAdd(counter, 1);
    while (*const_cast<volatile std::uint32_t*>(counter) < gridDim.x) {
    }
  }
  __syncthreads();
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    out[i] = 2 * x[i];
  }
}

/// Every block says when it has ended its work, and the last one writes who has: it waits as long
/// again as its own work took, and for nobody.
__global__ void hasty(const float* x, float* out, std::uint32_t n, std::uint32_t* ended) {
  const long long begin = clock64();
  pass_over(x, out, n, 4);
  const long long took = clock64() - begin;
  __syncthreads();
  if (threadIdx.x == 0) {
    *const_cast<volatile std::uint32_t*>(ended + blockIdx.x) = 1;
  }
  if (blockIdx.x == gridDim.x - 1) {
    while (clock64() - begin < 2 * took) {
    }
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < gridDim.x; i += blockDim.x) {
      const auto seen = *const_cast<volatile std::uint32_t*>(ended + i);
      ended[gridDim.x + i] = seen;
    }
  }
}

/// Through as much dynamic shared memory as it is given.
__global__ void through_shared(const float* x, float* out, std::uint32_t n, std::uint32_t words) {
  extern __shared__ float shared[];
  for (std::uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
    shared[words - n + i] = x[i];
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
    out[i] = 2 * shared[words - n + i];
  }
}

/// Shared memory as it was found.
__global__ void unwritten_shared(const float*, float* out, std::uint32_t, std::uint32_t words) {
  extern __shared__ volatile float found[];
  for (std::uint32_t i = threadIdx.x; i < words; i += blockDim.x) out[i] = found[i];
}

/// What another kernel left in shared memory: how many words hold its mark.
__global__ void read_shared(const float*, float* out, std::uint32_t, std::uint32_t words) {
  extern __shared__ volatile std::uint32_t left[];
  __shared__ unsigned found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  unsigned mine = 0;
  for (std::uint32_t i = threadIdx.x; i < words; i += blockDim.x) mine += left[i] == 0xc0ffee11u;
  atomicAdd(&found, mine);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = static_cast<float>(found);
}

__global__ void write_shared(const float* x, float* out, std::uint32_t n, std::uint32_t words) {
  extern __shared__ volatile std::uint32_t left[];
  for (std::uint32_t i = threadIdx.x; i < words; i += blockDim.x) left[i] = 0xc0ffee11u;
  __syncthreads();
  if (blockIdx.x == 0 && threadIdx.x < n) out[threadIdx.x] = x[threadIdx.x];
}

__global__ void count(const float*, float* out, std::uint32_t n, std::uint32_t* counter) {
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    ++*counter;
    out[0] = static_cast<float>(*counter);
    out[n - 1] = 0;
  }
}

/// Differs from run to run: the clock.
__global__ void unstable(const float*, float* out, std::uint32_t n) {
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    out[n - 1] = static_cast<float>(clock64() & 0xffffff);
  }
}

__global__ void print(const float* x, float* out, std::uint32_t n) {
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    out[i] = 2 * x[i];
    for (int line = 0; line < 100; ++line) {
      printf("a kernel prints line %d of element %u, and it goes nowhere\n", line, i);
    }
  }
}

// Modules of their own: all kernels of a module share what it does with memory.
#ifdef OUROBOROS_HEAP
__global__ void allocate(const float* x, float* out, std::uint32_t n) {
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    auto* copy = static_cast<float*>(malloc(n * sizeof(float)));
    for (std::uint32_t i = 0; i < n; ++i) copy[i] = x[i];
    for (std::uint32_t i = 0; i < n; ++i) out[i] = 2 * copy[i];
    free(copy);
  }
}
#endif

#ifdef OUROBOROS_MANAGED
__device__ __managed__ std::uint32_t runs = 0;
#else
__device__ std::uint32_t runs;
#endif
__device__ std::uint32_t first_result = 40;
static __device__ std::uint32_t seen[1000];
__constant__ std::uint32_t fixed = 0;

#ifdef OUROBOROS_SEVERAL
// As a memo has them, or the counters of a sum's last block.
__device__ std::uint32_t keys[64];
__device__ float values[64];
__device__ bool used[64];
#endif

/// Keeps what it has done in variables of four kinds, and writes what it finds in them.
__global__ void remember(const float*, float* out, std::uint32_t n) {
  for (std::uint32_t i = threadIdx.x; i < 1000; i += blockDim.x) {
    out[1 + i] = static_cast<float>(++seen[(i + n) % 1000]);
  }
  if (threadIdx.x == 0) {
    // The compiler would refuse what it can see through.
    volatile std::uint32_t* constant = nullptr;
    asm volatile("mov.u64 %0, %1;" : "=l"(constant) : "l"(&fixed));
    out[0] = static_cast<float>(first_result++ + ++runs + *constant);
    *constant = *constant + 1;
#ifdef OUROBOROS_SEVERAL
    out[0] += static_cast<float>(keys[n % 64]++) + values[n % 64] + (used[n % 64] ? 1.0F : 0.0F);
    values[n % 64] += 1.0F;
    used[n % 64] = true;
#endif
  }
}

struct alignas(64) TensorMap {
  char bytes[128];
};

/// Brings one box of 256 elements a block through the bulk tensor copy engine.
__global__ void copy_by_map(const float*, float* out, std::uint32_t n,
                            const __grid_constant__ TensorMap map) {
  __shared__ alignas(128) float tile[256];
  __shared__ alignas(8) std::uint64_t barrier;
  const auto bar = static_cast<std::uint32_t>(__cvta_generic_to_shared(&barrier));
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(tile));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar));
    asm volatile("fence.proxy.async.shared::cta;");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(1024));
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2}], [%3];" ::"r"(to),
        "l"(&map), "r"(blockIdx.x * 256), "r"(bar)
        : "memory");
  }
  __syncthreads();
  std::uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; "
        "selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(bar)
        : "memory");
  }
  const std::uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) {
    out[i] = 2 * tile[threadIdx.x];
  }
}

}  // extern "C"
