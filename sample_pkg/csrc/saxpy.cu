#include <sample/sample.h>

#include "device_array.cuh"

extern "C" __global__ void saxpy(float a, const float* x, float* y, unsigned long long n) {
    const unsigned long long step = static_cast<unsigned long long>(blockDim.x) * gridDim.x;
    unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i < n; i += step) y[i] += a * x[i];
}

cudaError_t sample::saxpy(float a, const float* x, float* y, std::size_t n) {
    if (n == 0) return cudaSuccess;
    DeviceArray<float> device_x, device_y;
    SAMPLE_TRY(device_x.allocate(n));
    SAMPLE_TRY(device_y.allocate(n));
    SAMPLE_TRY(device_x.copy_from(x, n));
    SAMPLE_TRY(device_y.copy_from(y, n));
    const std::size_t wanted = (n + 255) / 256;
    const unsigned blocks = static_cast<unsigned>(wanted < 4096 ? wanted : 4096);
    ::saxpy<<<blocks, 256>>>(a, device_x.data(), device_y.data(), n);
    SAMPLE_TRY(cudaGetLastError());
    return device_y.copy_to(y, n);
}
