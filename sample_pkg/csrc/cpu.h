// The same two operations on the CPU.
#ifndef SAMPLE_CPU_H
#define SAMPLE_CPU_H

#include <cstddef>

namespace sample {
namespace cpu {

void saxpy(float a, const float* x, float* y, std::size_t n);
double block_sum(const float* x, std::size_t n);

}  // namespace cpu
}  // namespace sample

#endif
