// An array in device memory that is freed when it goes out of scope.
#ifndef SAMPLE_DEVICE_ARRAY_CUH
#define SAMPLE_DEVICE_ARRAY_CUH

#include <cstddef>

#include <cuda_runtime_api.h>

namespace sample {

template <typename T>
class DeviceArray {
public:
    DeviceArray() = default;
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    ~DeviceArray() { cudaFree(data_); }

    cudaError_t allocate(std::size_t count) {
        return cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T));
    }
    cudaError_t copy_from(const T* host, std::size_t count) {
        return cudaMemcpy(data_, host, count * sizeof(T), cudaMemcpyHostToDevice);
    }
    cudaError_t copy_to(T* host, std::size_t count) const {
        return cudaMemcpy(host, data_, count * sizeof(T), cudaMemcpyDeviceToHost);
    }
    T* data() const { return data_; }

private:
    T* data_ = nullptr;
};

}  // namespace sample

// Leaves the function with the error of a call that failed.
#define SAMPLE_TRY(call)                                        \
    do {                                                        \
        const cudaError_t sample_status = (call);               \
        if (sample_status != cudaSuccess) return sample_status; \
    } while (false)

#endif
