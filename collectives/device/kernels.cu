// SPDX-License-Identifier: Apache-2.0
//
// A reduction is one pass over the memory, as fast as that is: a thread takes 16 bytes of each
// source at a time, reads several sources before it needs the first, and combines them in
// registers; blocks stride over the array. Where pointers do not allow loads of 16 bytes, it takes
// a number at a time. Compiled without contraction to fused multiply-adds, which would round
// differently from a CPU's.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "collectives/device/kernels.hpp"

namespace batchai::coll {
namespace {

constexpr std::size_t kVector = 16;  // bytes of a load

// The reduction as the kernel's argument.
struct Work {
    const void* from[Device::Reduction::kSources];
    void* to;
    std::size_t count;
    double before, after;
    int sources, divisor;
};

// Formats: how numbers lie in memory, and as what they are computed.
template <class T>
struct Plain {
    using Stored = T;
    using Number = T;
    static __device__ T read(T stored) { return stored; }
    static __device__ T write(T value) { return value; }
};

struct Bool : Plain<std::uint8_t> {
    static __device__ std::uint8_t read(std::uint8_t stored) { return stored != 0 ? 1 : 0; }
};

struct Half {
    using Stored = __half;
    using Number = float;
    static __device__ float read(__half stored) { return __half2float(stored); }
    static __device__ __half write(float value) { return __float2half_rn(value); }
};

struct Brain {
    using Stored = __nv_bfloat16;
    using Number = float;
    static __device__ float read(__nv_bfloat16 stored) { return __bfloat162float(stored); }
    static __device__ __nv_bfloat16 write(float value) { return __float2bfloat16_rn(value); }
};

// Integers wrap: signed ones are added and multiplied as unsigned ones.
struct Sum {
    template <class T>
    static __device__ T apply(T a, T b) {
        if constexpr (std::is_integral_v<T>) {
            using Wrapping = std::make_unsigned_t<T>;
            return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
        } else {
            return a + b;
        }
    }
};

struct Product {
    template <class T>
    static __device__ T apply(T a, T b) {
        if constexpr (std::is_integral_v<T>) {
            using Wrapping = std::make_unsigned_t<T>;
            return static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
        } else {
            return a * b;
        }
    }
};

// NaN if there is one: b's, because the comparison is false then.
struct Min {
    template <class T>
    static __device__ T apply(T a, T b) {
        return a < b || a != a ? a : b;
    }
};

struct Max {
    template <class T>
    static __device__ T apply(T a, T b) {
        return a > b || a != a ? a : b;
    }
};

struct Or {
    template <class T>
    static __device__ T apply(T a, T b) {
        return a | b;
    }
};

struct And {
    template <class T>
    static __device__ T apply(T a, T b) {
        return a & b;
    }
};

// The scaling of inputs and results. For integers: a division at the end.
template <class Number>
struct Factors {
    explicit __device__ Factors(const Work& work) : divisor(work.divisor) {}
    __device__ Number begin(Number value) const { return value; }
    __device__ Number end(Number value) const {
        return divisor == 1 ? value : static_cast<Number>(value / divisor);
    }

    int divisor;
};

template <class Number>
struct FloatFactors {
    explicit __device__ FloatFactors(const Work& work)
        : before(static_cast<Number>(work.before)),
          after(static_cast<Number>(work.after)),
          divisor(static_cast<Number>(work.divisor)),
          inverse(Number{1} / divisor),
          divides((work.divisor & (work.divisor - 1)) != 0) {}
    __device__ Number begin(Number value) const { return value * before; }
    __device__ Number end(Number value) const {
        return (divides ? value / divisor : value * inverse) * after;
    }

    Number before, after, divisor;
    Number inverse;  // of a power of two, with which the product is the quotient
    bool divides;    // by something else
};
template <>
struct Factors<float> : FloatFactors<float> {
    using FloatFactors::FloatFactors;
};
template <>
struct Factors<double> : FloatFactors<double> {
    using FloatFactors::FloatFactors;
};

// Numbers that are loaded and stored together.
template <class Stored, int Count>
struct alignas(sizeof(Stored) * Count) Pack {
    Stored numbers[Count];
};

template <class Format, class Op, int Count>
__device__ void reduce_at(const Work& work, const Factors<typename Format::Number>& factors,
                          std::size_t at) {
    using Numbers = Pack<typename Format::Stored, Count>;
    constexpr int kTogether = 4;  // sources that are read at a time
    typename Format::Number values[Count];
    for (int source = 0; source < work.sources; source += kTogether) {
        Numbers next[kTogether];
#pragma unroll
        for (int k = 0; k < kTogether; ++k) {
            if (source + k < work.sources) {
                next[k] = static_cast<const Numbers*>(work.from[source + k])[at];
            }
        }
#pragma unroll
        for (int k = 0; k < kTogether; ++k) {
            if (source + k >= work.sources) break;
#pragma unroll
            for (int i = 0; i < Count; ++i) {
                const auto value = factors.begin(Format::read(next[k].numbers[i]));
                values[i] = source + k == 0 ? value : Op::apply(values[i], value);
            }
        }
    }
    Numbers result;
#pragma unroll
    for (int i = 0; i < Count; ++i) result.numbers[i] = Format::write(factors.end(values[i]));
    static_cast<Numbers*>(work.to)[at] = result;
}

// vectors: how many of 16 bytes to begin with; the rest is done a number at a time.
template <class Format, class Op>
__global__ void __launch_bounds__(kReductionThreads)
    reduce(const __grid_constant__ Work work, std::size_t vectors) {
    constexpr int kCount = kVector / sizeof(typename Format::Stored);
    const Factors<typename Format::Number> factors(work);
    const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    const std::size_t begin = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (std::size_t at = begin; at < vectors; at += stride) {
        reduce_at<Format, Op, kCount>(work, factors, at);
    }
    for (std::size_t at = vectors * kCount + begin; at < work.count; at += stride) {
        reduce_at<Format, Op, 1>(work, factors, at);
    }
}

using Kernel = void (*)(Work, std::size_t);

struct Kernels {
    std::size_t element;
    Kernel sum, min, max, product;
};

// Ops: what sums, minima, maxima and products are.
template <class Format, class... Ops>
constexpr Kernels kernels_of() {
    return {sizeof(typename Format::Stored), reduce<Format, Ops>...};
}
template <class Format>
constexpr Kernels kernels() {
    return kernels_of<Format, Sum, Min, Max, Product>();
}

// In the order of batchai_coll_type.
const Kernels kAll[] = {kernels<Plain<float>>(),
                        kernels<Plain<double>>(),
                        kernels<Plain<std::int32_t>>(),
                        kernels<Plain<std::int64_t>>(),
                        kernels<Plain<std::uint8_t>>(),
                        kernels<Plain<std::int8_t>>(),
                        kernels<Half>(),
                        kernels<Brain>(),
                        kernels_of<Bool, Or, And, Or, And>()};

Kernel kernel_of(const Kernels& kernels, batchai_coll_op op) {
    switch (op) {
        case BATCHAI_COLL_MIN:
            return kernels.min;
        case BATCHAI_COLL_MAX:
            return kernels.max;
        case BATCHAI_COLL_PRODUCT:
            return kernels.product;
        default:
            return kernels.sum;
    }
}

// Calls with every kernel that there is, some more than once.
template <class With>
void for_all_kernels(With with) {
    for (const Kernels& kernels : kAll) {
        for (const Kernel kernel : {kernels.sum, kernels.min, kernels.max, kernels.product}) {
            with(kernel);
        }
    }
}

}  // namespace

cudaError_t load_reductions() {
    cudaError_t status = cudaSuccess;
    for_all_kernels([&](Kernel kernel) {
        if (status != cudaSuccess) return;
        cudaFuncAttributes attributes;
        status = cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel));
    });
    return status;
}

cudaError_t launch_reduction(const Device::Reduction& reduction, int blocks, cudaStream_t stream) {
    if (reduction.count == 0) return cudaSuccess;
    const Kernels& kernels = kAll[reduction.type];
    Work work{};
    work.to = reduction.to;
    work.count = reduction.count;
    work.before = reduction.before;
    work.after = reduction.after;
    work.sources = static_cast<int>(reduction.sources);
    work.divisor = reduction.divisor;
    auto places = reinterpret_cast<std::uintptr_t>(reduction.to);
    for (std::size_t k = 0; k < reduction.sources; ++k) {
        work.from[k] = reduction.from[k];
        places |= reinterpret_cast<std::uintptr_t>(reduction.from[k]);
    }
    const std::size_t together = kVector / kernels.element;
    std::size_t vectors = places % kVector == 0 ? reduction.count / together : 0;
    const std::size_t steps = std::max(vectors, reduction.count - vectors * together);
    const std::size_t wanted = (steps + kReductionThreads - 1) / kReductionThreads;
    void* arguments[] = {&work, &vectors};
    return cudaLaunchKernel(
        reinterpret_cast<const void*>(kernel_of(kernels, reduction.op)),
        dim3(static_cast<unsigned>(std::min(wanted, static_cast<std::size_t>(blocks)))),
        dim3(kReductionThreads), arguments, 0, stream);
}

}  // namespace batchai::coll
