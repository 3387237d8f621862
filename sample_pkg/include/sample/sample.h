// What libsample.a offers to C++: two operations on arrays in host memory, done on the GPU.
#ifndef SAMPLE_SAMPLE_H
#define SAMPLE_SAMPLE_H

#include <cstddef>

#include <cuda_runtime_api.h>

namespace sample {

struct Device {
    char name[256];
    int major;   // compute capability
    int minor;
    int driver;  // the newest CUDA that the driver serves, as 13000 for 13.0
};

// Describes the current GPU. cudaErrorInsufficientDriver and cudaErrorNoDevice mean: there is none.
cudaError_t find_device(Device* device);

// y[i] += a * x[i] for all i below n.
cudaError_t saxpy(float a, const float* x, float* y, std::size_t n);

// The sum of all x[i], added up in double precision.
cudaError_t block_sum(const float* x, std::size_t n, double* sum);

}  // namespace sample

#endif
