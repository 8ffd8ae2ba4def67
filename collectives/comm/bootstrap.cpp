// SPDX-License-Identifier: Apache-2.0
#include "collectives/comm/bootstrap.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pmix.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "collectives/comm/handover.hpp"
#include "collectives/comm/identity.hpp"
#include "sys/file.hpp"
#include "sys/user_path.hpp"

namespace batchai::coll {
namespace {

// Owns a value that PMIx has allocated.
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

sys::Error pmix_error(const std::string& what, pmix_status_t status) {
    return sys::Error{what + ": " + PMIx_Error_string(status)};
}

constexpr char kSessionKey[] = "batchai.coll.session";

// How long an earlier program of a rank may need to end after it has left the library.
constexpr std::chrono::seconds kHandover(10);

unsigned rank_of_environment() {
    return static_cast<unsigned>(std::strtoul(environment("PMIX_RANK").c_str(), nullptr, 10));
}

// The process's connection to its PMIx server. It lasts from the first use until the process ends
// or unloads the library. If a client finalized and connected again while others were in a fence,
// the fence would fail.
//
// A rank may run several programs in turn, and PMIx keeps the values that each of them has
// published. A process that asks for one key of a rank gets all of that rank's keys, earlier
// programs' too, and caches them. So each session has a name, which is part of its keys. Only the
// name itself is published under the same key again.
class Session {
  public:
    static Session& get() {
        static Session session;
        return session;
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // An error if this process may not take part as its rank.
    sys::Result<void> joined() const;
    const pmix_proc_t& self() const { return self_; }

    // Collective. Returns the prefix of the next communicator's keys.
    sys::Result<std::string> next_scope();
    // The process may end after this, unless it calls next_scope().
    void leave() {
        if (!leaving_) leaving_ = announce_leaving(self_.nspace, self_.rank);
    }

    sys::Result<void> put(const std::string& key, const std::string& value) const;
    sys::Result<std::string> get(int rank, const std::string& key, bool refresh = false) const;
    sys::Result<void> fence(bool collect) const;
    pmix_proc_t proc(pmix_rank_t rank) const {
        pmix_proc_t proc;
        PMIX_LOAD_PROCID(&proc, self_.nspace, rank);
        return proc;
    }

  private:
    Session()
        : process_(::getpid()),
          claim_(claim_rank(environment("PMIX_NAMESPACE"), rank_of_environment(), kHandover)),
          shared_(PMIx_Initialized() != 0),
          status_(PMIx_Init(&self_, nullptr, 0)) {}
    ~Session() {
        // A child forked from this process is not a client.
        if (status_ == PMIX_SUCCESS && process_ == ::getpid()) PMIx_Finalize(nullptr, 0);
    }
    sys::Result<void> await_predecessors() const;
    sys::Result<void> agree_on_name();
    std::string note_file() const;

    pmix_proc_t self_{};
    pid_t process_;
    sys::Result<RankSocket> claim_;  // released after PMIx_Finalize
    bool shared_;  // another library of the process, such as an MPI library, is a client too
    pmix_status_t status_;
    std::string name_;  // empty: not agreed on yet
    unsigned epochs_ = 0;
    RankSocket leaving_;  // closed after PMIx_Finalize
};

// A second process of a rank ends the job: the first one, and the other ranks, may be in the middle
// of a training that lacks the second one's part.
sys::Result<void> Session::joined() const {
    if (process_ != ::getpid()) {
        return sys::Error{fmt::format(
            "this process was forked from process {}, which is rank {} of this job already: a rank "
            "is one process at a time. Call init in one of them only",
            process_, self_.rank)};
    }
    if (!claim_) {
        const std::string sentence = "collectives: " + claim_.error().message;
        // srun and mpirun do not print it, and may kill this process before its caller does.
        if (!environment("PMIX_NAMESPACE").starts_with(kNamespaceOfBatchai)) {
            std::fprintf(stderr, "%s\n", sentence.c_str());
        }
        if (status_ == PMIX_SUCCESS) PMIx_Abort(1, sentence.c_str(), nullptr, 0);
        return claim_.error();
    }
    if (status_ == PMIX_SUCCESS) return {};
    return pmix_error("connecting to the PMIx server (PMIX_NAMESPACE is set)", status_);
}

sys::Result<std::string> Session::next_scope() {
    leaving_ = {};
    if (name_.empty()) {
        if (auto ended = await_predecessors(); !ended) return ended.error();
        if (auto agreed = agree_on_name(); !agreed) return agreed.error();
    }
    return fmt::format("batchai.coll.{}.{}", name_, ++epochs_);
}

sys::Result<void> Session::await_predecessors() const {
    const pmix_proc_t job = proc(PMIX_RANK_WILDCARD);
    Value peers;
    if (PMIx_Get(&job, PMIX_LOCAL_PEERS, nullptr, 0, &peers.value) != PMIX_SUCCESS ||
        peers.value->type != PMIX_STRING) {
        return {};  // the server does not report them
    }
    std::istringstream list(peers.value->data.string);
    for (std::string text; std::getline(list, text, ',');) {
        const auto rank = static_cast<pmix_rank_t>(std::strtoul(text.c_str(), nullptr, 10));
        if (auto ended = await_leaving(self_.nspace, rank, kHandover); !ended) return ended;
    }
    return {};
}

// Rank 0 chooses the name. No two processes that are rank 0 choose the same one.
sys::Result<void> Session::agree_on_name() {
    std::string name;
    if (self_.rank == 0) {
        const auto now = std::chrono::system_clock::now().time_since_epoch().count();
        name = fmt::format("{:x}.{:x}", process_, now);
        if (auto done = put(kSessionKey, name); !done) return done;
    }
    // Another rank may share its client even if rank 0 does not.
    const std::string note = self_.rank == 0 || shared_ ? note_file() : "";
    if (self_.rank == 0 && !note.empty())
        if (const auto file = sys::open_user_file(note, O_WRONLY | O_CREAT | O_TRUNC); file)
            (void)sys::write_all(file->get(), name);
    if (auto met = fence(true); !met) return met;
    if (self_.rank != 0 && !note.empty()) std::getline(std::ifstream(note), name);
    if (name.empty()) {
        auto found = get(0, kSessionKey, shared_);
        if (!found) return found.error().in("asking PMIx for rank 0's session");
        name = std::move(*found);
    }
    name_ = std::move(name);
    return {};
}

// The file in which rank 0's node keeps the session's name. The other client may have asked for
// rank 0's keys before rank 0 put the new name. libpmix then asks again only for ranks of other
// nodes, so ranks of rank 0's node read this file.
std::string Session::note_file() const {
    const pmix_proc_t job = proc(PMIX_RANK_WILDCARD);
    Value directory;
    if (PMIx_Get(&job, PMIX_NSDIR, nullptr, 0, &directory.value) != PMIX_SUCCESS ||
        directory.value->type != PMIX_STRING) {
        return {};
    }
    return std::string(directory.value->data.string) + "/" + kSessionKey;
}

sys::Result<void> Session::put(const std::string& key, const std::string& value) const {
    pmix_value_t holder;
    holder.type = PMIX_BYTE_OBJECT;
    holder.data.bo = {const_cast<char*>(value.data()), value.size()};
    pmix_status_t status = PMIx_Put(PMIX_GLOBAL, key.c_str(), &holder);
    if (status == PMIX_SUCCESS) status = PMIx_Commit();
    if (status != PMIX_SUCCESS) return pmix_error("publishing through PMIx", status);
    return {};
}

sys::Result<std::string> Session::get(int rank, const std::string& key, bool refresh) const {
    const pmix_proc_t proc = this->proc(static_cast<pmix_rank_t>(rank));
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_GET_REFRESH_CACHE, &refresh, PMIX_BOOL);
    Value found;
    const pmix_status_t status = PMIx_Get(&proc, key.c_str(), &info, refresh ? 1 : 0, &found.value);
    if (status != PMIX_SUCCESS) return sys::Error{PMIx_Error_string(status)};
    if (found.value->type != PMIX_BYTE_OBJECT) return sys::Error{"the value is not a byte object"};
    return std::string(found.value->data.bo.bytes, found.value->data.bo.size);
}

sys::Result<void> Session::fence(bool collect) const {
    const pmix_proc_t all = proc(PMIX_RANK_WILDCARD);
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    const pmix_status_t status = PMIx_Fence(&all, 1, &info, 1);
    if (status != PMIX_SUCCESS) return pmix_error("waiting for all ranks in a PMIx fence", status);
    return {};
}

class PmixBootstrap final : public Bootstrap {
  public:
    static sys::Result<std::unique_ptr<Bootstrap>> open();
    ~PmixBootstrap() override {
        if (session_ != nullptr) session_->leave();
    }
    int rank() const override { return rank_; }
    int size() const override { return size_; }
    sys::Result<void> publish(const std::string& key, const std::string& value) override;
    sys::Result<std::string> lookup(int rank, const std::string& key) const override;
    sys::Result<void> leave() override;

  private:
    std::string scoped(const std::string& key) const { return scope_ + "." + key; }

    Session* session_ = nullptr;  // null in a job of one rank
    std::string scope_;
    int rank_ = 0, size_ = 1;
};

// A job may call init again and again.
void remark_once() {
    static const std::string remark = remark_of_lone_process(environment);
    static const bool said =
        !remark.empty() && std::fprintf(stderr, "collectives: %s\n", remark.c_str()) > 0;
    static_cast<void>(said);
}

sys::Result<std::unique_ptr<Bootstrap>> PmixBootstrap::open() {
    auto self = std::make_unique<PmixBootstrap>();
    if (auto good = check_identity(environment); !good) return good.error();
    if (environment("PMIX_NAMESPACE").empty()) {
        remark_once();
        return std::unique_ptr<Bootstrap>(std::move(self));
    }
    Session& session = Session::get();
    if (auto joined = session.joined(); !joined) return joined.error();
    self->session_ = &session;
    self->rank_ = static_cast<int>(session.self().rank);
    const pmix_proc_t job = session.proc(PMIX_RANK_WILDCARD);
    Value size;
    const pmix_status_t status = PMIx_Get(&job, PMIX_JOB_SIZE, nullptr, 0, &size.value);
    if (status != PMIX_SUCCESS) return pmix_error("asking PMIx for the size of the job", status);
    self->size_ = static_cast<int>(size.value->data.uint32);
    auto scope = session.next_scope();
    if (!scope) return scope.error();
    self->scope_ = std::move(*scope);
    return std::unique_ptr<Bootstrap>(std::move(self));
}

sys::Result<void> PmixBootstrap::publish(const std::string& key, const std::string& value) {
    if (session_ == nullptr) return {};
    if (!value.empty()) {
        if (auto put = session_->put(scoped(key), value); !put) return put;
    }
    return session_->fence(true);
}

sys::Result<std::string> PmixBootstrap::lookup(int rank, const std::string& key) const {
    auto found = session_->get(rank, scoped(key));
    if (!found)
        return found.error().in(fmt::format("asking PMIx for the {} of rank {}", key, rank));
    return found;
}

// When the fence releases the first rank, all ranks have announced that they leave.
sys::Result<void> PmixBootstrap::leave() {
    if (session_ == nullptr) return {};
    session_->leave();
    return session_->fence(false);
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

std::string host_identity() {
    std::string boot;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
    struct stat network {};
    ::stat("/proc/self/ns/net", &network);
    return fmt::format("{}.{}", boot, network.st_ino);
}

}  // namespace batchai::coll
