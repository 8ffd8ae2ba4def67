// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/nccl.hpp"

#include <fmt/format.h>
#include <nccl.h>

#include <cstring>

#include "collectives/device/library.hpp"

namespace batchai::coll {

static_assert(sizeof(ncclUniqueId) == sizeof(StreamComms::Id));

namespace {

constexpr int kOldest = NCCL_VERSION(2, 18, 0);
static_assert(NCCL_VERSION_CODE >= kOldest);

struct Nccl {
    static sys::Result<Nccl> load();

    int version;
    decltype(&::ncclGetVersion) get_version;
    decltype(&::ncclGetErrorString) error_string;
    decltype(&::ncclGetLastError) last_error;
    decltype(&::ncclGetUniqueId) unique_id;
    decltype(&::ncclCommInitRankConfig) init;
    decltype(&::ncclCommGetAsyncError) state;
    decltype(&::ncclCommFinalize) finalize;
    decltype(&::ncclCommDestroy) destroy;
    decltype(&::ncclCommAbort) abort;
    decltype(&::ncclReduceScatter) reduce_scatter;
    decltype(&::ncclAllGather) all_gather;
    decltype(&::ncclAllReduce) all_reduce;
};

std::string text_of(int version) {
    return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

sys::Result<Nccl> Nccl::load() {
    const auto library = Library::open("libnccl.so.2");
    if (!library) return library.error().in("NCCL");
    Nccl nccl{};
    if (auto found = library->find("ncclGetVersion", nccl.get_version); !found) {
        return found.error().in("NCCL");
    }
    if (nccl.get_version(&nccl.version) != ncclSuccess || nccl.version < kOldest) {
        return sys::Error{fmt::format("NCCL: found version {}, version {} or later is needed",
                                      text_of(nccl.version), text_of(kOldest))};
    }
    for (const auto& found : {library->find("ncclGetErrorString", nccl.error_string),
                              library->find("ncclGetLastError", nccl.last_error),
                              library->find("ncclGetUniqueId", nccl.unique_id),
                              library->find("ncclCommInitRankConfig", nccl.init),
                              library->find("ncclCommGetAsyncError", nccl.state),
                              library->find("ncclCommFinalize", nccl.finalize),
                              library->find("ncclCommDestroy", nccl.destroy),
                              library->find("ncclCommAbort", nccl.abort),
                              library->find("ncclReduceScatter", nccl.reduce_scatter),
                              library->find("ncclAllGather", nccl.all_gather),
                              library->find("ncclAllReduce", nccl.all_reduce)}) {
        if (!found) return found.error().in("NCCL " + text_of(nccl.version));
    }
    return nccl;
}

// Never destroyed: threads may abort communicators until the process ends.
const sys::Result<Nccl>& nccl() {
    static const auto* const loaded = new sys::Result<Nccl>(Nccl::load());
    return *loaded;
}

// comm: null if there is no communicator yet.
sys::Error error_of(ncclResult_t status, ncclComm* comm, const std::string& what) {
    const char* last = nccl()->last_error(comm);
    const std::string more = last == nullptr || *last == '\0' ? "" : fmt::format(" ({})", last);
    return sys::Error{fmt::format("{}: NCCL: {}{}", what, nccl()->error_string(status), more)};
}

// In progress is not an error: ready() reports the result later.
sys::Result<void> begun(ncclResult_t status, ncclComm* comm, const char* what) {
    if (status == ncclSuccess || status == ncclInProgress) return {};
    return error_of(status, comm, what);
}

ncclDataType_t type_of(batchai_coll_type type) {
    switch (type) {
        case BATCHAI_COLL_FLOAT32:
            return ncclFloat32;
        case BATCHAI_COLL_FLOAT64:
            return ncclFloat64;
        case BATCHAI_COLL_INT32:
            return ncclInt32;
        case BATCHAI_COLL_INT64:
            return ncclInt64;
        case BATCHAI_COLL_INT8:
            return ncclInt8;
        case BATCHAI_COLL_FLOAT16:
            return ncclFloat16;
        case BATCHAI_COLL_BFLOAT16:
            return ncclBfloat16;
        case BATCHAI_COLL_UINT8:
        case BATCHAI_COLL_BOOL:
            break;
    }
    return ncclUint8;
}

// For booleans, sum and max are "or", product and min are "and".
sys::Result<ncclRedOp_t> op_of(batchai_coll_op op, batchai_coll_type type) {
    const bool is_bool = type == BATCHAI_COLL_BOOL;
    switch (op) {
        case BATCHAI_COLL_SUM:
            return is_bool ? ncclMax : ncclSum;
        case BATCHAI_COLL_MIN:
            return ncclMin;
        case BATCHAI_COLL_MAX:
            return ncclMax;
        case BATCHAI_COLL_PRODUCT:
            return is_bool ? ncclMin : ncclProd;
        case BATCHAI_COLL_AVERAGE:
            break;
    }
    return sys::Error{fmt::format("NCCL has no reduction {}", static_cast<int>(op))};
}

cudaStream_t stream_of(Device::Stream stream) {
    return reinterpret_cast<cudaStream_t>(stream);
}

}  // namespace

sys::Result<std::string> nccl_version() {
    if (!nccl()) return nccl().error();
    return text_of(nccl()->version);
}

sys::Result<StreamComms::Id> NcclComms::make_id() {
    if (!nccl()) return nccl().error();
    ncclUniqueId made;
    const ncclResult_t status = nccl()->unique_id(&made);
    if (status != ncclSuccess) return error_of(status, nullptr, "making a communicator's id");
    Id id;
    std::memcpy(id.data(), &made, sizeof made);
    return id;
}

sys::Result<std::unique_ptr<StreamComm>> NcclComms::create(const Id& id, int rank, int size) {
    if (!nccl()) return nccl().error();
    auto context = CudaContext::open(device_);
    if (!context) return context.error();
    const CurrentContext current(*context);
    ncclUniqueId unique;
    std::memcpy(&unique, id.data(), sizeof unique);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm* comm = nullptr;
    const ncclResult_t status = nccl()->init(&comm, size, unique, rank, &config);
    if (auto good = begun(status, nullptr, "making a communicator"); !good) {
        if (comm != nullptr) (void)nccl()->abort(comm);
        return good.error();
    }
    return std::unique_ptr<StreamComm>(new NcclComm(std::move(*context), comm));
}

// Neither destroy nor abort waits for other ranks.
NcclComm::~NcclComm() {
    const CurrentContext current(context_);
    (void)(state_ == State::finished ? nccl()->destroy(comm_) : nccl()->abort(comm_));
}

sys::Result<bool> NcclComm::ready() {
    const CurrentContext current(context_);
    ncclResult_t state = ncclSuccess;
    const ncclResult_t status = nccl()->state(comm_, &state);
    if (status != ncclSuccess) return error_of(status, comm_, "asking for a communicator's state");
    if (state == ncclInProgress) return false;
    if (state != ncclSuccess) return error_of(state, comm_, "between the GPUs");
    if (state_ == State::finishing) state_ = State::finished;
    return true;
}

sys::Result<void> NcclComm::reduce_scatter(const std::byte* from, std::byte* to, std::size_t count,
                                           batchai_coll_type type, batchai_coll_op op,
                                           Device::Stream stream) {
    const auto operation = op_of(op, type);
    if (!operation) return operation.error();
    const CurrentContext current(context_);
    return begun(nccl()->reduce_scatter(from, to, count, type_of(type), *operation, comm_,
                                        stream_of(stream)),
                 comm_, "a reduce-scatter between the GPUs");
}

sys::Result<void> NcclComm::all_gather(const std::byte* from, std::byte* to, std::size_t count,
                                       batchai_coll_type type, Device::Stream stream) {
    const CurrentContext current(context_);
    return begun(nccl()->all_gather(from, to, count, type_of(type), comm_, stream_of(stream)),
                 comm_, "an allgather between the GPUs");
}

sys::Result<void> NcclComm::all_reduce(const std::byte* from, std::byte* to, std::size_t count,
                                       batchai_coll_type type, batchai_coll_op op,
                                       Device::Stream stream) {
    const auto operation = op_of(op, type);
    if (!operation) return operation.error();
    const CurrentContext current(context_);
    return begun(
        nccl()->all_reduce(from, to, count, type_of(type), *operation, comm_, stream_of(stream)),
        comm_, "an allreduce between the GPUs");
}

sys::Result<void> NcclComm::finish() {
    const CurrentContext current(context_);
    auto good = begun(nccl()->finalize(comm_), comm_, "ending a communicator");
    if (good) state_ = State::finishing;
    return good;
}

}  // namespace batchai::coll
