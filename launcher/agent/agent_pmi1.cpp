// SPDX-License-Identifier: Apache-2.0
//
// Agent: connects its PMI-1 server with the root. PMI-1 requests have the same effects as in PMIx,
// except that their fences are a separate series.
//
// The only rank of a job takes part in no fence. Each MPICH program that it starts gets a PMI-1
// session of its own.
#include "launcher/agent/agent.hpp"

namespace batchai::launcher {

// False: start_pmi1() has reported the error to the root.
bool Agent::start_pmi1() {
    if (job_.map.size() == 1) {
        auto server =
            pmi1::SoloServer::listen(loop_, job_.nspace, [this] { pmix_->refuse_spawn(0); });
        if (!server) {
            fail(server.error().message);
            return false;
        }
        solo_pmi1_ = std::move(*server);
        return true;
    }
    pmi1_ = std::make_unique<pmi1::Server>(
        loop_,
        pmi1::Server::Callbacks{
            [this](int rank) { pmix_->joined(rank); }, [this](int rank) { pmix_->left(rank); },
            [this](Fence contribution) { branch_->give(std::move(contribution)); },
            [this](int rank, int code, std::string message) {
                pmix_->report_abort(rank, code, std::move(message));
            },
            [this](int rank) { pmix_->refuse_spawn(rank); }},
        pmi1::Job{job_.nspace, job_.map.size(), process_mapping(job_.map)});
    return true;
}

// Returns the rank's end of the socket pair. The caller closes it when the rank runs. PMI_RANK and
// PMI_SIZE are set elsewhere.
sys::Result<sys::UniqueFd> Agent::offer_pmi1(SpawnRequest& request, int rank) {
    if (job_.role == Role::script) return sys::UniqueFd();
    if (solo_pmi1_) {
        request.environment["PMI_PORT"] = solo_pmi1_->address();
        request.environment["PMI_ID"] = "0";
        return sys::UniqueFd();
    }
    auto end = pmi1_->connect(rank);
    if (!end) return end;
    request.inherited = end->get();
    request.environment["PMI_FD"] = std::to_string(end->get());
    return end;
}

}  // namespace batchai::launcher
