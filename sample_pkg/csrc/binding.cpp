// The Python module sample_pkg._native, in the plain C API: buffers in, numbers out.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <cstring>

#include <sample/sample.h>

#include "cpu.h"

namespace {

// No driver, too old a driver, or no GPU: the CPU answers then, and the caller is told.
// Every other error is raised.
bool is_without_gpu(cudaError_t status) {
    return status == cudaErrorInsufficientDriver || status == cudaErrorNoDevice;
}

PyObject* raise_cuda_error(cudaError_t status) {
    return PyErr_Format(PyExc_RuntimeError, "%s: %s", cudaGetErrorName(status), cudaGetErrorString(status));
}

// A one-dimensional, contiguous view of float32 values, released at the end of the scope.
class Floats {
public:
    Floats() = default;
    Floats(const Floats&) = delete;
    Floats& operator=(const Floats&) = delete;
    ~Floats() {
        if (held_) PyBuffer_Release(&view_);
    }

    // Returns whether it worked; if not, a Python exception is set.
    bool open(PyObject* object, const char* name, bool writable) {
        const int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(object, &view_, flags) != 0) return false;
        held_ = true;
        const bool floats = view_.itemsize == sizeof(float) && view_.format && std::strcmp(view_.format, "f") == 0;
        if (!floats || view_.ndim != 1) {
            PyErr_Format(PyExc_TypeError, "%s must be one-dimensional and of format 'f' (float32)", name);
            return false;
        }
        return true;
    }

    float* data() const { return static_cast<float*>(view_.buf); }
    std::size_t size() const { return static_cast<std::size_t>(view_.len) / sizeof(float); }

    bool overlaps_in_part(const Floats& other) const {
        const auto mine = reinterpret_cast<std::uintptr_t>(view_.buf);
        const auto its = reinterpret_cast<std::uintptr_t>(other.view_.buf);
        const auto my_length = static_cast<std::uintptr_t>(view_.len);
        const auto its_length = static_cast<std::uintptr_t>(other.view_.len);
        return mine != its && mine < its + its_length && its < mine + my_length;
    }

private:
    Py_buffer view_ = {};
    bool held_ = false;
};

PyObject* saxpy(PyObject*, PyObject* arguments) {
    float a = 0;
    PyObject *x_object = nullptr, *y_object = nullptr;
    if (!PyArg_ParseTuple(arguments, "fOO:saxpy", &a, &x_object, &y_object)) return nullptr;
    Floats x, y;
    if (!x.open(x_object, "x", false) || !y.open(y_object, "y", true)) return nullptr;
    if (x.size() != y.size()) {
        return PyErr_Format(PyExc_ValueError, "x holds %zu values and y %zu", x.size(), y.size());
    }
    if (x.overlaps_in_part(y)) {
        PyErr_SetString(PyExc_ValueError, "x and y overlap in part");
        return nullptr;
    }

    cudaError_t status = cudaSuccess;
    bool on_gpu = true;
    Py_BEGIN_ALLOW_THREADS
    sample::Device device;
    status = sample::find_device(&device);
    if (status == cudaSuccess) {
        status = sample::saxpy(a, x.data(), y.data(), x.size());
    } else if (is_without_gpu(status)) {
        sample::cpu::saxpy(a, x.data(), y.data(), x.size());
        status = cudaSuccess;
        on_gpu = false;
    }
    Py_END_ALLOW_THREADS
    if (status != cudaSuccess) return raise_cuda_error(status);
    return PyUnicode_FromString(on_gpu ? "gpu" : "cpu");
}

PyObject* block_sum(PyObject*, PyObject* x_object) {
    Floats x;
    if (!x.open(x_object, "x", false)) return nullptr;

    cudaError_t status = cudaSuccess;
    bool on_gpu = true;
    double sum = 0;
    Py_BEGIN_ALLOW_THREADS
    sample::Device device;
    status = sample::find_device(&device);
    if (status == cudaSuccess) {
        status = sample::block_sum(x.data(), x.size(), &sum);
    } else if (is_without_gpu(status)) {
        sum = sample::cpu::block_sum(x.data(), x.size());
        status = cudaSuccess;
        on_gpu = false;
    }
    Py_END_ALLOW_THREADS
    if (status != cudaSuccess) return raise_cuda_error(status);
    return Py_BuildValue("(ds)", sum, on_gpu ? "gpu" : "cpu");
}

// (name, (major, minor), driver, "") of the GPU, or (None, None, 0, why not).
PyObject* find_device(PyObject*, PyObject*) {
    sample::Device device = {};
    cudaError_t status = cudaSuccess;
    Py_BEGIN_ALLOW_THREADS
    status = sample::find_device(&device);
    Py_END_ALLOW_THREADS
    if (is_without_gpu(status)) {
        PyObject* why = PyUnicode_FromFormat("%s: %s", cudaGetErrorName(status), cudaGetErrorString(status));
        if (why == nullptr) return nullptr;
        return Py_BuildValue("(OOiN)", Py_None, Py_None, 0, why);
    }
    if (status != cudaSuccess) return raise_cuda_error(status);
    return Py_BuildValue("(s(ii)is)", device.name, device.major, device.minor, device.driver, "");
}

PyMethodDef methods[] = {
    {"saxpy", saxpy, METH_VARARGS, "saxpy(a, x, y)\n--\n\nAdd a * x to y in place; return 'gpu' or 'cpu'."},
    {"block_sum", block_sum, METH_O, "block_sum(x)\n--\n\nReturn (sum of x, 'gpu' or 'cpu')."},
    {"find_device", find_device, METH_NOARGS, "find_device()\n--\n\nReturn (name, capability, driver, why there is none)."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef_Slot slots[] = {{0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "SAXPY and a sum, on the GPU or the CPU.", 0, methods, slots,
    nullptr, nullptr, nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__native() {
    return PyModuleDef_Init(&definition);
}
