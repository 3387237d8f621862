#include <sample/sample.h>

#include <cstring>

namespace sample {

cudaError_t find_device(Device* device) {
    int count = 0;
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess) return status;
    if (count == 0) return cudaErrorNoDevice;

    int ordinal = 0;
    cudaDeviceProp properties;
    if ((status = cudaGetDevice(&ordinal)) != cudaSuccess) return status;
    if ((status = cudaGetDeviceProperties(&properties, ordinal)) != cudaSuccess) return status;
    static_assert(sizeof(device->name) == sizeof(properties.name), "the name must fit");
    std::memcpy(device->name, properties.name, sizeof(device->name));
    device->major = properties.major;
    device->minor = properties.minor;
    return cudaDriverGetVersion(&device->driver);
}

}  // namespace sample
