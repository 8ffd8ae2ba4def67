// SPDX-License-Identifier: Apache-2.0
//
// The functions of TensorFlow's C interface for operations and kernels that operations.cpp calls.
// TensorFlow 2.13 and newer export them from libtensorflow_framework.so.2. They are declared here,
// so that one library, built without TensorFlow, runs on all of these releases.
#pragma once

#include <cstddef>
#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming): TensorFlow's names
extern "C" {

struct TF_Status;
struct TF_Tensor;
struct TF_OpDefinitionBuilder;
struct TF_ShapeInferenceContext;
struct TF_ShapeHandle;
struct TF_KernelBuilder;
struct TF_OpKernelConstruction;
struct TF_OpKernelContext;
struct TF_AsyncOpKernelDoneCallback;

// The values of TF_DataType and TF_Code that this library uses.
enum TF_DataType {
    TF_FLOAT = 1,
    TF_DOUBLE = 2,
    TF_INT32 = 3,
    TF_UINT8 = 4,
    TF_INT8 = 6,
    TF_INT64 = 9,
    TF_BOOL = 10,
    TF_BFLOAT16 = 14,
    TF_HALF = 19
};
enum TF_Code { TF_OK = 0, TF_FAILED_PRECONDITION = 9 };

TF_Status* TF_NewStatus();
void TF_DeleteStatus(TF_Status* status);
TF_Code TF_GetCode(const TF_Status* status);
const char* TF_Message(const TF_Status* status);
void TF_SetStatus(TF_Status* status, TF_Code code, const char* message);

int TF_NumDims(const TF_Tensor* tensor);
std::int64_t TF_Dim(const TF_Tensor* tensor, int index);
std::int64_t TF_TensorElementCount(const TF_Tensor* tensor);
TF_DataType TF_TensorType(const TF_Tensor* tensor);
std::size_t TF_TensorByteSize(const TF_Tensor* tensor);
void* TF_TensorData(const TF_Tensor* tensor);
void TF_DeleteTensor(TF_Tensor* tensor);

TF_OpDefinitionBuilder* TF_NewOpDefinitionBuilder(const char* name);
void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder* builder, const char* spec);
void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder* builder, const char* spec);
void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder* builder, const char* spec);
void TF_OpDefinitionBuilderSetShapeInferenceFunction(TF_OpDefinitionBuilder* builder,
                                                     void (*infer)(TF_ShapeInferenceContext*,
                                                                   TF_Status*));
void TF_RegisterOpDefinition(TF_OpDefinitionBuilder* builder, TF_Status* status);

TF_ShapeHandle* TF_NewShapeHandle();
void TF_DeleteShapeHandle(TF_ShapeHandle* handle);
TF_ShapeHandle* TF_ShapeInferenceContextScalar(TF_ShapeInferenceContext* context);
std::int64_t TF_ShapeInferenceContextNumInputs(TF_ShapeInferenceContext* context);
void TF_ShapeInferenceContextGetInput(TF_ShapeInferenceContext* context, int index,
                                      TF_ShapeHandle* handle, TF_Status* status);
void TF_ShapeInferenceContextSetOutput(TF_ShapeInferenceContext* context, int index,
                                       TF_ShapeHandle* handle, TF_Status* status);

TF_KernelBuilder* TF_NewKernelBuilder(const char* op, const char* device,
                                      void* (*create)(TF_OpKernelConstruction*),
                                      void (*compute)(void*, TF_OpKernelContext*),
                                      void (*remove)(void*));
TF_KernelBuilder* TF_NewAsyncKernelBuilder(const char* op, const char* device,
                                           void* (*create)(TF_OpKernelConstruction*),
                                           void (*compute)(void*, TF_OpKernelContext*,
                                                           TF_AsyncOpKernelDoneCallback*),
                                           void (*remove)(void*));
void TF_RegisterKernelBuilder(const char* name, TF_KernelBuilder* builder, TF_Status* status);
void TF_RunAsyncOpKernelDoneCallback(TF_AsyncOpKernelDoneCallback* done);

void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction* context, TF_Status* status);
void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction* context, const char* name,
                                         std::int32_t* list_size, std::int32_t* total_size,
                                         TF_Status* status);
void TF_OpKernelConstruction_GetAttrString(TF_OpKernelConstruction* context, const char* name,
                                           char* value, std::size_t size, TF_Status* status);
void TF_OpKernelConstruction_GetAttrInt64(TF_OpKernelConstruction* context, const char* name,
                                          std::int64_t* value, TF_Status* status);

int TF_NumInputs(TF_OpKernelContext* context);
void TF_GetInput(TF_OpKernelContext* context, int index, TF_Tensor** tensor, TF_Status* status);
void TF_SetOutput(TF_OpKernelContext* context, int index, const TF_Tensor* tensor,
                  TF_Status* status);
TF_Tensor* TF_AllocateOutput(TF_OpKernelContext* context, int index, TF_DataType type,
                             const std::int64_t* dimensions, int rank, std::size_t size,
                             TF_Status* status);
void TF_OpKernelContext_Failure(TF_OpKernelContext* context, TF_Status* status);

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
