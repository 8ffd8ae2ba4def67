// SPDX-License-Identifier: Apache-2.0
#include "collectives/bootstrap.hpp"

#include <fmt/format.h>
#include <pmix.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace batchai::coll {
namespace {

sys::Error pmix_error(const std::string& what, pmix_status_t status) {
    return sys::Error{what + ": " + PMIx_Error_string(status)};
}

// Owner of a value that PMIx has allocated.
struct Value {
    pmix_value_t* value = nullptr;

    Value() = default;
    Value(const Value&) = delete;
    Value& operator=(const Value&) = delete;
    ~Value() {
        if (value != nullptr) PMIX_VALUE_RELEASE(value);
    }
};

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// The process's connection to its PMIx server, from the first use to the end of the process: a
// client that finalizes and comes back while others are in a fence already makes the fence fail.
class Session {
  public:
    static Session& get() {
        static Session session;
        return session;
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    pmix_status_t status() const { return status_; }
    const pmix_proc_t& self() const { return self_; }
    unsigned next_epoch() { return ++epochs_; }

  private:
    Session() : process_(::getpid()), status_(PMIx_Init(&self_, nullptr, 0)) {}
    ~Session() {
        // A child forked from this process is not a client.
        if (status_ == PMIX_SUCCESS && process_ == ::getpid()) PMIx_Finalize(nullptr, 0);
    }

    pmix_proc_t self_{};
    pid_t process_;
    pmix_status_t status_;
    unsigned epochs_ = 0;
};

class PmixBootstrap final : public Bootstrap {
  public:
    static sys::Result<std::unique_ptr<Bootstrap>> open();
    int rank() const override { return rank_; }
    int size() const override { return size_; }
    sys::Result<void> publish(const std::string& key, const std::string& value) override;
    sys::Result<std::string> lookup(int rank, const std::string& key) const override;
    sys::Result<void> fence() const override { return fence(false); }

  private:
    sys::Result<void> fence(bool collect) const;
    std::string scoped(const std::string& key) const;

    pmix_proc_t self_{};
    bool connected_ = false;
    unsigned epoch_ = 0;
    int rank_ = 0, size_ = 1;
};

sys::Result<std::unique_ptr<Bootstrap>> PmixBootstrap::open() {
    auto self = std::make_unique<PmixBootstrap>();
    if (environment("PMIX_NAMESPACE").empty()) return std::unique_ptr<Bootstrap>(std::move(self));

    Session& session = Session::get();
    pmix_status_t status = session.status();
    if (status != PMIX_SUCCESS) {
        return pmix_error("connecting to the PMIx server that PMIX_NAMESPACE speaks of", status);
    }
    self->connected_ = true;
    self->self_ = session.self();
    self->epoch_ = session.next_epoch();
    self->rank_ = static_cast<int>(self->self_.rank);

    pmix_proc_t job;
    PMIX_LOAD_PROCID(&job, self->self_.nspace, PMIX_RANK_WILDCARD);
    Value size;
    status = PMIx_Get(&job, PMIX_JOB_SIZE, nullptr, 0, &size.value);
    if (status != PMIX_SUCCESS) return pmix_error("asking PMIx for the size of the job", status);
    self->size_ = static_cast<int>(size.value->data.uint32);
    return std::unique_ptr<Bootstrap>(std::move(self));
}

std::string PmixBootstrap::scoped(const std::string& key) const {
    return fmt::format("batchai.coll.{}.{}", epoch_, key);
}

sys::Result<void> PmixBootstrap::publish(const std::string& key, const std::string& value) {
    if (!connected_) return {};
    if (!value.empty()) {
        pmix_value_t holder;
        holder.type = PMIX_BYTE_OBJECT;
        holder.data.bo = {const_cast<char*>(value.data()), value.size()};
        pmix_status_t status = PMIx_Put(PMIX_GLOBAL, scoped(key).c_str(), &holder);
        if (status == PMIX_SUCCESS) status = PMIx_Commit();
        if (status != PMIX_SUCCESS) return pmix_error("publishing through PMIx", status);
    }
    return fence(true);
}

sys::Result<std::string> PmixBootstrap::lookup(int rank, const std::string& key) const {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, self_.nspace, static_cast<pmix_rank_t>(rank));
    Value found;
    const pmix_status_t status = PMIx_Get(&proc, scoped(key).c_str(), nullptr, 0, &found.value);
    if (status != PMIX_SUCCESS) {
        return pmix_error(fmt::format("asking PMIx for the {} of rank {}", key, rank), status);
    }
    if (found.value->type != PMIX_BYTE_OBJECT) {
        return sys::Error{fmt::format("the {} of rank {}: PMIx has changed its type", key, rank)};
    }
    return std::string(found.value->data.bo.bytes, found.value->data.bo.size);
}

sys::Result<void> PmixBootstrap::fence(bool collect) const {
    if (!connected_) return {};
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, self_.nspace, PMIX_RANK_WILDCARD);
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    const pmix_status_t status = PMIx_Fence(&all, 1, &info, 1);
    if (status != PMIX_SUCCESS) return pmix_error("waiting for all ranks in a PMIx fence", status);
    return {};
}

}  // namespace

sys::Result<std::unique_ptr<Bootstrap>> bootstrap_through_pmix() {
    return PmixBootstrap::open();
}

std::string node_name() {
    for (const char* variable : {"BATCHAI_COLL_NODE", "PMIX_HOSTNAME"}) {
        if (std::string name = environment(variable); !name.empty()) return name;
    }
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    return name;
}

std::string host_name() {
    std::string boot;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
    struct stat network {};
    ::stat("/proc/self/ns/net", &network);
    return fmt::format("{}.{}", boot, network.st_ino);
}

}  // namespace batchai::coll
