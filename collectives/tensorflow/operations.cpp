// SPDX-License-Identifier: Apache-2.0
//
// libbatchai_tensorflow: operations for graphs of TensorFlow 2.13 and newer, on CPUs. BatchaiSubmit
// puts an allreduce in line as soon as its tensor is computed. It returns a number and the tensor
// for the result. BatchaiWait takes the numbers and tensors of several, and returns the results
// when all have ended. BatchaiAwait does so for operations that Python functions have submitted,
// and returns their numbers. BatchaiWait and BatchaiAwait occupy no thread of TensorFlow's while
// they wait.
//
// No operation is declared stateful, because tf.function would run stateful operations in sequence.
// horovod/tensorflow/ops/native.py loads the library and sets the queues.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "batchai/collectives.h"
#include "collectives/tensorflow/interface.hpp"

namespace {

struct StatusDelete {
    void operator()(TF_Status* status) const { TF_DeleteStatus(status); }
};
struct TensorDelete {
    void operator()(TF_Tensor* tensor) const { TF_DeleteTensor(tensor); }
};
using Status = std::unique_ptr<TF_Status, StatusDelete>;
using Tensor = std::unique_ptr<TF_Tensor, TensorDelete>;

Status new_status() {
    return Status(TF_NewStatus());
}

bool is_ok(const Status& status) {
    return TF_GetCode(status.get()) == TF_OK;
}

void fail(TF_OpKernelContext* context, const std::string& message) {
    const Status status = new_status();
    TF_SetStatus(status.get(), TF_FAILED_PRECONDITION, message.c_str());
    TF_OpKernelContext_Failure(context, status.get());
}

struct Type {
    TF_DataType tensorflow;
    batchai_coll_type library;
    const char* name;  // as in common/arrays.py: ranks that submit arrays must match
};
constexpr Type kTypes[] = {
    {TF_FLOAT, BATCHAI_COLL_FLOAT32, "float32"},      {TF_DOUBLE, BATCHAI_COLL_FLOAT64, "float64"},
    {TF_INT32, BATCHAI_COLL_INT32, "int32"},          {TF_INT64, BATCHAI_COLL_INT64, "int64"},
    {TF_UINT8, BATCHAI_COLL_UINT8, "uint8"},          {TF_INT8, BATCHAI_COLL_INT8, "int8"},
    {TF_HALF, BATCHAI_COLL_FLOAT16, "float16"},       {TF_BOOL, BATCHAI_COLL_BOOL, "bool"},
    {TF_BFLOAT16, BATCHAI_COLL_BFLOAT16, "bfloat16"},
};

const Type* type_of(TF_DataType wanted) {
    for (const Type& type : kTypes) {
        if (type.tensorflow == wanted) return &type;
    }
    return nullptr;
}

// A submitted allreduce. It keeps the tensors until the allreduce has ended, because a step that
// fails in between would otherwise free them.
struct Pending {
    batchai_coll_queue* queue = nullptr;
    batchai_coll_ticket* ticket = nullptr;
    Tensor sent, received;
};

class Table {
  public:
    void set_queue(std::int64_t process_set, batchai_coll_queue* queue) {
        const std::scoped_lock held(lock_);
        if (queue == nullptr) {
            queues_.erase(process_set);
        } else {
            queues_[process_set] = queue;
        }
    }

    // Null: the process set does not exist, or this rank is not in it.
    batchai_coll_queue* queue(std::int64_t process_set) {
        const std::scoped_lock held(lock_);
        const auto found = queues_.find(process_set);
        return found == queues_.end() ? nullptr : found->second;
    }

    std::int64_t add(Pending pending) {
        const std::scoped_lock held(lock_);
        pending_.emplace(++last_, std::move(pending));
        return last_;
    }

    // Removes and returns an entry. Without a queue: the number is unknown.
    Pending take(std::int64_t number) {
        const std::scoped_lock held(lock_);
        auto node = pending_.extract(number);
        return node ? std::move(node.mapped()) : Pending();
    }

  private:
    std::mutex lock_;
    std::map<std::int64_t, batchai_coll_queue*> queues_;  // by process set
    std::map<std::int64_t, Pending> pending_;
    std::int64_t last_ = 0;
};

// Never destroyed: TensorFlow's threads may outlive static objects.
Table& table() {
    static Table& all = *new Table;
    return all;
}

// The attributes of a BatchaiSubmit node.
struct Submit {
    std::string name;
    batchai_coll_op op = BATCHAI_COLL_SUM;
    batchai_coll_scaling scaling{1, 1};
    std::int64_t process_set = 0;
};

std::string text_of(TF_OpKernelConstruction* context, const char* name, const Status& status) {
    std::int32_t list_size = 0, size = 0;
    TF_OpKernelConstruction_GetAttrSize(context, name, &list_size, &size, status.get());
    if (!is_ok(status) || size <= 0) return {};
    std::string text(static_cast<std::size_t>(size), '\0');
    TF_OpKernelConstruction_GetAttrString(context, name, text.data(), text.size(), status.get());
    return text;
}

std::int64_t number_of(TF_OpKernelConstruction* context, const char* name, const Status& status) {
    std::int64_t number = 0;
    TF_OpKernelConstruction_GetAttrInt64(context, name, &number, status.get());
    return number;
}

void* create_submit(TF_OpKernelConstruction* context) {
    auto kernel = std::make_unique<Submit>();
    const Status status = new_status();
    const auto take = [&](auto read, const char* name) {
        return is_ok(status) ? read(context, name, status)
                             : decltype(read(context, name, status))();
    };
    kernel->name = take(text_of, "tensor_name");
    kernel->op = static_cast<batchai_coll_op>(take(number_of, "reduce_op"));
    // The attributes are text, because attributes of type float have 32 bits.
    kernel->scaling.before = std::strtod(take(text_of, "prescale_factor").c_str(), nullptr);
    kernel->scaling.after = std::strtod(take(text_of, "postscale_factor").c_str(), nullptr);
    kernel->process_set = take(number_of, "process_set");
    if (!is_ok(status)) TF_OpKernelConstruction_Failure(context, status.get());
    return kernel.release();
}

void delete_submit(void* kernel) {
    delete static_cast<Submit*>(kernel);
}

std::vector<std::int64_t> shape_of(const TF_Tensor* tensor) {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(TF_NumDims(tensor)));
    for (std::size_t i = 0; i < shape.size(); i++) shape[i] = TF_Dim(tensor, static_cast<int>(i));
    return shape;
}

// "of float32[2, 3]", as in common/arrays.py.
std::string details_of(const Type& type, const std::vector<std::int64_t>& shape) {
    std::string text = std::string("of ") + type.name + "[";
    for (std::size_t i = 0; i < shape.size(); i++) {
        text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
    }
    return text + "]";
}

void submit(const Submit& kernel, TF_OpKernelContext* context) {
    const Status status = new_status();
    TF_Tensor* given = nullptr;
    TF_GetInput(context, 0, &given, status.get());
    Tensor sent(given);
    if (!is_ok(status)) return TF_OpKernelContext_Failure(context, status.get());
    const Type* type = type_of(TF_TensorType(given));
    batchai_coll_queue* queue = table().queue(kernel.process_set);
    if (queue == nullptr || type == nullptr) {
        return fail(context, "horovod: " + kernel.name +
                                 ": hvd was shut down, or its process set was removed");
    }
    const std::vector<std::int64_t> shape = shape_of(given);
    Tensor received(TF_AllocateOutput(context, 1, type->tensorflow, shape.data(),
                                      static_cast<int>(shape.size()), TF_TensorByteSize(given),
                                      status.get()));
    if (!is_ok(status)) return TF_OpKernelContext_Failure(context, status.get());
    const Tensor number(
        TF_AllocateOutput(context, 0, TF_INT64, nullptr, 0, sizeof(std::int64_t), status.get()));
    if (!is_ok(status)) return TF_OpKernelContext_Failure(context, status.get());

    const batchai_coll_tensor tensor{TF_TensorData(given), TF_TensorData(received.get()),
                                     static_cast<std::size_t>(TF_TensorElementCount(given)),
                                     type->library};
    batchai_coll_ticket* ticket = nullptr;
    const char* name = kernel.name.empty() ? nullptr : kernel.name.c_str();
    if (batchai_coll_submit_allreduce(queue, name, details_of(*type, shape).c_str(), &tensor, 1,
                                      kernel.op, &kernel.scaling, 0, &ticket) != BATCHAI_COLL_OK) {
        return fail(context, batchai_coll_last_error());
    }
    const std::int64_t entered = table().add({queue, ticket, std::move(sent), std::move(received)});
    std::memcpy(TF_TensorData(number.get()), &entered, sizeof entered);
}

void compute_submit(void* kernel, TF_OpKernelContext* context) {
    submit(*static_cast<const Submit*>(kernel), context);
}

// Waits for the operations of a BatchaiWait, and returns their tensors or the first failure to
// TensorFlow.
void wait(TF_OpKernelContext* context) {
    const Status status = new_status();
    const int count = TF_NumInputs(context) / 2;
    std::string failure;
    std::vector<Tensor> results;
    for (int i = 0; i < count; i++) {
        TF_Tensor* input = nullptr;
        TF_GetInput(context, i, &input, status.get());
        if (!is_ok(status)) return TF_OpKernelContext_Failure(context, status.get());
        const Tensor number(input);
        Pending pending =
            table().take(*static_cast<const std::int64_t*>(TF_TensorData(number.get())));
        if (pending.queue == nullptr) {
            failure = "horovod: the graph waits twice for one operation";
        } else if (batchai_coll_ticket_wait(pending.queue, pending.ticket) != BATCHAI_COLL_OK &&
                   failure.empty()) {
            failure = batchai_coll_last_error();
        }
        results.push_back(std::move(pending.received));
    }
    if (!failure.empty()) return fail(context, failure);
    for (int i = 0; i < count; i++) {
        TF_SetOutput(context, i, results[static_cast<std::size_t>(i)].get(), status.get());
        if (!is_ok(status)) return TF_OpKernelContext_Failure(context, status.get());
    }
}

// The object at the address `done`: the std::function<void()> of TensorFlow's kernels.cc, in the
// layout of GCC's standard library, whichever library this file is compiled with.
struct Done {
    enum class Action { kCopy = 2, kDestroy = 3 };

    Done(const Done& other) : manager(other.manager), invoker(other.invoker) {
        manager(words, other.words, Action::kCopy);
    }
    Done& operator=(const Done&) = delete;
    ~Done() { manager(words, words, Action::kDestroy); }

    void* words[2];
    bool (*manager)(void* to, const void* from, Action);
    void* invoker;
};

// Whether `done` has this layout: two words, then two pointers to code of TensorFlow's.
bool is_function(const TF_AsyncOpKernelDoneCallback* done) {
    void* pointers[4];
    static_assert(sizeof pointers == sizeof(Done));
    std::memcpy(pointers, done, sizeof pointers);
    const auto is_tensorflows = [](void* code) {
        Dl_info info;
        return code != nullptr && dladdr(code, &info) != 0 && info.dli_fname != nullptr &&
               std::strstr(info.dli_fname, "tensorflow") != nullptr;
    };
    return is_tensorflows(pointers[2]) && is_tensorflows(pointers[3]);
}

// Calls work(context) and then done, in a new thread if possible.
void compute_apart(void (*work)(TF_OpKernelContext*), TF_OpKernelContext* context,
                   TF_AsyncOpKernelDoneCallback* done) {
    static const bool can_copy = is_function(done);
    if (can_copy) {
        // The original std::function ends when this call returns.
        auto* copy = new Done(*reinterpret_cast<const Done*>(done));
        try {
            std::thread([work, context, copy] {
                work(context);
                TF_RunAsyncOpKernelDoneCallback(
                    reinterpret_cast<TF_AsyncOpKernelDoneCallback*>(copy));
                delete copy;
            }).detach();
            return;
        } catch (const std::system_error&) {  // no new thread can be started: this one waits
            delete copy;
        }
    }
    work(context);
    TF_RunAsyncOpKernelDoneCallback(done);
}

void compute_wait(void* /*kernel*/, TF_OpKernelContext* context,
                  TF_AsyncOpKernelDoneCallback* done) {
    compute_apart(wait, context, done);
}

// Waits for operations of Python by their numbers. Returns 0, or another number with a message if
// one has failed.
using Waiter = int (*)(const std::int64_t* numbers, std::size_t count, char* message,
                       std::size_t size);
std::atomic<Waiter> waiter{nullptr};

void await(TF_OpKernelContext* context) {
    const Status status = new_status();
    std::vector<std::int64_t> numbers;
    for (int i = 0; i < TF_NumInputs(context); i++) {
        TF_Tensor* input = nullptr;
        TF_GetInput(context, i, &input, status.get());
        if (!is_ok(status)) return TF_OpKernelContext_Failure(context, status.get());
        const Tensor number(input);
        numbers.push_back(*static_cast<const std::int64_t*>(TF_TensorData(input)));
        TF_SetOutput(context, i, input, status.get());
        if (!is_ok(status)) return TF_OpKernelContext_Failure(context, status.get());
    }
    std::array<char, 4096> message{};
    const Waiter wait_for = waiter.load();
    if (wait_for == nullptr ||
        wait_for(numbers.data(), numbers.size(), message.data(), message.size() - 1) != 0) {
        fail(context, message.data());
    }
}

void compute_await(void* /*kernel*/, TF_OpKernelContext* context,
                   TF_AsyncOpKernelDoneCallback* done) {
    compute_apart(await, context, done);
}

void* create_wait(TF_OpKernelConstruction* /*context*/) {
    return nullptr;
}

void delete_wait(void* /*kernel*/) {}

void infer_submit(TF_ShapeInferenceContext* context, TF_Status* status) {
    TF_ShapeHandle* scalar = TF_ShapeInferenceContextScalar(context);
    TF_ShapeInferenceContextSetOutput(context, 0, scalar, status);
    TF_DeleteShapeHandle(scalar);
    TF_ShapeHandle* shape = TF_NewShapeHandle();
    TF_ShapeInferenceContextGetInput(context, 0, shape, status);
    TF_ShapeInferenceContextSetOutput(context, 1, shape, status);
    TF_DeleteShapeHandle(shape);
}

void infer_wait(TF_ShapeInferenceContext* context, TF_Status* status) {
    const int count = static_cast<int>(TF_ShapeInferenceContextNumInputs(context) / 2);
    TF_ShapeHandle* shape = TF_NewShapeHandle();
    for (int i = 0; i < count; i++) {
        TF_ShapeInferenceContextGetInput(context, count + i, shape, status);
        TF_ShapeInferenceContextSetOutput(context, i, shape, status);
    }
    TF_DeleteShapeHandle(shape);
}

constexpr char kSubmit[] = "BatchaiSubmit", kWait[] = "BatchaiWait", kAwait[] = "BatchaiAwait";

TF_KernelBuilder* asynchronous(const char* op, void (*compute)(void*, TF_OpKernelContext*,
                                                               TF_AsyncOpKernelDoneCallback*)) {
    return TF_NewAsyncKernelBuilder(op, "CPU", create_wait, compute, delete_wait);
}

bool register_operations() {
    const Status status = new_status();
    TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder(kSubmit);
    TF_OpDefinitionBuilderAddAttr(
        op, "T: {half, bfloat16, float, double, int8, uint8, int32, int64, bool}");
    TF_OpDefinitionBuilderAddAttr(op, "tensor_name: string");
    TF_OpDefinitionBuilderAddAttr(op, "reduce_op: int");
    TF_OpDefinitionBuilderAddAttr(op, "prescale_factor: string");
    TF_OpDefinitionBuilderAddAttr(op, "postscale_factor: string");
    TF_OpDefinitionBuilderAddAttr(op, "process_set: int");
    TF_OpDefinitionBuilderAddInput(op, "tensor: T");
    // A dummy input that is not a constant: TensorFlow computes nodes with constant inputs only
    // once.
    TF_OpDefinitionBuilderAddInput(op, "turn: int32");
    TF_OpDefinitionBuilderAddOutput(op, "number: int64");
    TF_OpDefinitionBuilderAddOutput(op, "buffer: T");
    TF_OpDefinitionBuilderSetShapeInferenceFunction(op, infer_submit);
    TF_RegisterOpDefinition(op, status.get());
    if (!is_ok(status)) return false;

    op = TF_NewOpDefinitionBuilder(kWait);
    TF_OpDefinitionBuilderAddAttr(op, "N: int >= 1");
    TF_OpDefinitionBuilderAddAttr(op, "Ts: list(type) >= 1");
    TF_OpDefinitionBuilderAddInput(op, "numbers: N * int64");
    TF_OpDefinitionBuilderAddInput(op, "buffers: Ts");
    TF_OpDefinitionBuilderAddOutput(op, "results: Ts");
    TF_OpDefinitionBuilderSetShapeInferenceFunction(op, infer_wait);
    TF_RegisterOpDefinition(op, status.get());
    if (!is_ok(status)) return false;

    op = TF_NewOpDefinitionBuilder(kAwait);
    TF_OpDefinitionBuilderAddAttr(op, "N: int >= 1");
    TF_OpDefinitionBuilderAddInput(op, "numbers: N * int64");
    TF_OpDefinitionBuilderAddOutput(op, "ended: N * int64");
    TF_RegisterOpDefinition(op, status.get());
    if (!is_ok(status)) return false;

    TF_RegisterKernelBuilder(
        kSubmit, TF_NewKernelBuilder(kSubmit, "CPU", create_submit, compute_submit, delete_submit),
        status.get());
    if (!is_ok(status)) return false;
    TF_RegisterKernelBuilder(kWait, asynchronous(kWait, compute_wait), status.get());
    if (!is_ok(status)) return false;
    TF_RegisterKernelBuilder(kAwait, asynchronous(kAwait, compute_await), status.get());
    return is_ok(status);
}

// TensorFlow registers the operations while it loads the library.
const bool registered = register_operations();

}  // namespace

extern "C" {

// Sets the queue of a process set, for operations from now on; null: none.
[[gnu::visibility("default")]] void batchai_tensorflow_set_queue(std::int64_t process_set,
                                                                 batchai_coll_queue* queue);
// Sets the function with which BatchaiAwait waits.
[[gnu::visibility("default")]] void batchai_tensorflow_set_waiter(Waiter wait_for);
// 1: the operations are registered.
[[gnu::visibility("default")]] int batchai_tensorflow_is_registered();

void batchai_tensorflow_set_queue(std::int64_t process_set, batchai_coll_queue* queue) {
    table().set_queue(process_set, queue);
}

void batchai_tensorflow_set_waiter(Waiter wait_for) {
    waiter.store(wait_for);
}

int batchai_tensorflow_is_registered() {
    return registered ? 1 : 0;
}

}  // extern "C"
