// Device code alone: it is launched from Python, out of the kernel module.
#include <cooperative_groups.h>
#include <cub/block/block_reduce.cuh>

namespace {
constexpr int kThreads = 256;
constexpr int kClusterBlocks = 4;
}  // namespace

// Each cluster of 4 blocks of 256 threads writes the sum of its share. The blocks add up through
// each other's shared memory.
extern "C" __global__ void __cluster_dims__(kClusterBlocks, 1, 1) __launch_bounds__(kThreads)
    cluster_sum(const float* x, double* partials, unsigned long long n) {
    using Reduce = cub::BlockReduce<double, kThreads>;
    __shared__ typename Reduce::TempStorage storage;
    __shared__ double sum_of_block;
    const unsigned long long step = static_cast<unsigned long long>(blockDim.x) * gridDim.x;
    unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    double mine = 0;
    for (; i < n; i += step) mine += x[i];
    const double sum = Reduce(storage).Sum(mine);
    if (threadIdx.x == 0) sum_of_block = sum;

    auto cluster = cooperative_groups::this_cluster();
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        double sum_of_cluster = 0;
        for (unsigned rank = 0; rank < kClusterBlocks; ++rank) {
            sum_of_cluster += *cluster.map_shared_rank(&sum_of_block, rank);
        }
        partials[blockIdx.x / kClusterBlocks] = sum_of_cluster;
    }
    // A block must not end while another one still reads its shared memory.
    cluster.sync();
}
