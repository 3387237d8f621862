#include <cub/block/block_reduce.cuh>
#include <sample/sample.h>

#include "device_array.cuh"

namespace {
constexpr int kThreads = 256;
constexpr int kBlocks = 256;
}  // namespace

// Each block of 256 threads writes the sum of its share.
extern "C" __global__ void __launch_bounds__(kThreads) block_sum(const float* x, double* partials, unsigned long long n) {
    using Reduce = cub::BlockReduce<double, kThreads>;
    __shared__ typename Reduce::TempStorage storage;
    const unsigned long long step = static_cast<unsigned long long>(blockDim.x) * gridDim.x;
    unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    double mine = 0;
    for (; i < n; i += step) mine += x[i];
    const double sum = Reduce(storage).Sum(mine);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

cudaError_t sample::block_sum(const float* x, std::size_t n, double* sum) {
    *sum = 0;
    if (n == 0) return cudaSuccess;
    DeviceArray<float> device_x;
    DeviceArray<double> device_partials;
    SAMPLE_TRY(device_x.allocate(n));
    SAMPLE_TRY(device_partials.allocate(kBlocks));
    SAMPLE_TRY(device_x.copy_from(x, n));
    ::block_sum<<<kBlocks, kThreads>>>(device_x.data(), device_partials.data(), n);
    SAMPLE_TRY(cudaGetLastError());
    double partials[kBlocks];
    SAMPLE_TRY(device_partials.copy_to(partials, kBlocks));
    for (const double partial : partials) *sum += partial;
    return cudaSuccess;
}
