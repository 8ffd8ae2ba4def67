// SPDX-License-Identifier: Apache-2.0
//
// The numbers that collectives_check.c reduces, and what comes out, in every type.
#pragma once

#include <batchai/collectives.h>
#include <math.h>
#include <stdint.h>

#include "rank.h"

// Element i of a rank, small enough for every type and operation to be exact until the result is
// rounded.
static inline double element(size_t i, int of_rank, batchai_coll_type type) {
    const int least = type == BATCHAI_COLL_UINT8 || type == BATCHAI_COLL_BOOL ? 0 : -1;
    return (double)((i + of_rank * 3) % 5) + least;
}

static inline double combined(double a, double b, batchai_coll_type type, batchai_coll_op op) {
    if (type == BATCHAI_COLL_BOOL) {
        return op == BATCHAI_COLL_MIN || op == BATCHAI_COLL_PRODUCT ? a != 0 && b != 0
                                                                    : a != 0 || b != 0;
    }
    if (op == BATCHAI_COLL_PRODUCT) return a * b;
    if (op == BATCHAI_COLL_MIN) return b < a ? b : a;
    if (op == BATCHAI_COLL_MAX) return b > a ? b : a;
    return a + b;
}

static inline double reduced(size_t i, batchai_coll_type type, batchai_coll_op op) {
    double value = element(i, 0, type);
    for (int r = 1; r < size; ++r) value = combined(value, element(i, r, type), type, op);
    return type == BATCHAI_COLL_BOOL ? value != 0 : value;
}

static inline size_t bytes_of(batchai_coll_type type) {
    switch (type) {
        case BATCHAI_COLL_FLOAT64:
        case BATCHAI_COLL_INT64:
            return 8;
        case BATCHAI_COLL_FLOAT32:
        case BATCHAI_COLL_INT32:
            return 4;
        case BATCHAI_COLL_FLOAT16:
        case BATCHAI_COLL_BFLOAT16:
            return 2;
        default:
            return 1;
    }
}

static inline int has_factors(batchai_coll_type type) {
    return type == BATCHAI_COLL_FLOAT32 || type == BATCHAI_COLL_FLOAT64 || bytes_of(type) == 2;
}

// The nearest float16 or bfloat16, as bits; value: neither too large nor too small for one.
static inline uint16_t short_of(float value, batchai_coll_type type) {
    const int half = type == BATCHAI_COLL_FLOAT16;
    const int places = half ? 10 : 7, bias = half ? 15 : 127;
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (value == 0) return sign;
    const int exponent = ilogbf(value);
    const int mantissa = (int)nearbyintf(ldexpf(fabsf(value), places - exponent));
    return (uint16_t)(sign | (((exponent + bias - 1) << places) + mantissa));
}

static inline void put(void* data, size_t i, batchai_coll_type type, double value) {
    if (type == BATCHAI_COLL_FLOAT32) ((float*)data)[i] = (float)value;
    if (type == BATCHAI_COLL_FLOAT64) ((double*)data)[i] = value;
    if (type == BATCHAI_COLL_INT32) ((int32_t*)data)[i] = (int32_t)value;
    if (type == BATCHAI_COLL_INT64) ((int64_t*)data)[i] = (int64_t)value;
    if (bytes_of(type) == 2) ((uint16_t*)data)[i] = short_of((float)value, type);
    if (bytes_of(type) == 1) ((uint8_t*)data)[i] = (uint8_t)(int)value;
}

// value, as the type has it, divided and then, where it is a float, multiplied.
static inline int is(const void* data, size_t i, batchai_coll_type type, double value, int divisor,
                     double factor) {
    switch (type) {
        case BATCHAI_COLL_FLOAT32:
            return ((const float*)data)[i] == (float)value / (float)divisor * (float)factor;
        case BATCHAI_COLL_FLOAT64:
            return ((const double*)data)[i] == value / divisor * factor;
        case BATCHAI_COLL_INT32:
            return ((const int32_t*)data)[i] == (int32_t)value / divisor;
        case BATCHAI_COLL_INT64:
            return ((const int64_t*)data)[i] == (int64_t)value / divisor;
        case BATCHAI_COLL_FLOAT16:
        case BATCHAI_COLL_BFLOAT16:
            return ((const uint16_t*)data)[i] ==
                   short_of((float)value / (float)divisor * (float)factor, type);
        case BATCHAI_COLL_INT8:
            return ((const int8_t*)data)[i] == (int8_t)(int)value / divisor;
        default:
            return ((const uint8_t*)data)[i] == (uint8_t)(int)value / divisor;
    }
}
