// The Python module sample_pkg._native, by nanobind: buffers in, numbers out.
#include <cstdint>
#include <cstring>

#include <nanobind/nanobind.h>

#include <sample/sample.h>

#include "cpu.h"

namespace nb = nanobind;

namespace {

bool is_without_gpu(cudaError_t status) {
    return status == cudaErrorInsufficientDriver || status == cudaErrorNoDevice;
}

void raise_if_failed(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

// A one-dimensional, contiguous view of float32 values.
class Floats {
public:
    Floats(nb::handle object, bool writable) {
        const int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nb::python_error();
        const bool floats = view_.itemsize == sizeof(float) && view_.format && std::strcmp(view_.format, "f") == 0;
        if (floats && view_.ndim == 1) return;
        PyBuffer_Release(&view_);
        throw nb::type_error("must be one-dimensional and of format 'f' (float32)");
    }
    Floats(const Floats&) = delete;
    Floats& operator=(const Floats&) = delete;
    ~Floats() { PyBuffer_Release(&view_); }

    float* data() const { return static_cast<float*>(view_.buf); }
    std::size_t size() const { return static_cast<std::size_t>(view_.len) / sizeof(float); }

    bool overlaps_in_part(const Floats& other) const {
        const auto mine = reinterpret_cast<std::uintptr_t>(view_.buf);
        const auto its = reinterpret_cast<std::uintptr_t>(other.view_.buf);
        return mine != its && mine < its + other.view_.len && its < mine + view_.len;
    }

private:
    Py_buffer view_ = {};
};

// Returns where the work was done: on the GPU, or on the CPU where there is none.
template <typename OnGpu, typename OnCpu>
const char* run(OnGpu on_gpu, OnCpu on_cpu) {
    nb::gil_scoped_release release;
    sample::Device device;
    const cudaError_t status = sample::find_device(&device);
    if (is_without_gpu(status)) {
        on_cpu();
        return "cpu";
    }
    raise_if_failed(status);
    raise_if_failed(on_gpu());
    return "gpu";
}

const char* saxpy(float a, nb::handle x_object, nb::handle y_object) {
    Floats x(x_object, false), y(y_object, true);
    if (x.size() != y.size()) throw nb::value_error("x and y differ in size");
    if (x.overlaps_in_part(y)) throw nb::value_error("x and y overlap in part");
    return run([&] { return sample::saxpy(a, x.data(), y.data(), x.size()); },
               [&] { sample::cpu::saxpy(a, x.data(), y.data(), x.size()); });
}

nb::tuple block_sum(nb::handle x_object) {
    Floats x(x_object, false);
    double sum = 0;
    const char* where = run([&] { return sample::block_sum(x.data(), x.size(), &sum); },
                            [&] { sum = sample::cpu::block_sum(x.data(), x.size()); });
    return nb::make_tuple(sum, where);
}

// (name, (major, minor), driver, "") of the GPU, or (None, None, 0, why not).
nb::tuple find_device() {
    sample::Device device = {};
    const cudaError_t status = sample::find_device(&device);
    if (is_without_gpu(status)) return nb::make_tuple(nb::none(), nb::none(), 0, cudaGetErrorString(status));
    raise_if_failed(status);
    return nb::make_tuple(device.name, nb::make_tuple(device.major, device.minor), device.driver, "");
}

}  // namespace

NB_MODULE(_native, module) {
    module.def("saxpy", &saxpy);
    module.def("block_sum", &block_sum);
    module.def("find_device", &find_device);
}
