// SPDX-License-Identifier: Apache-2.0
//
// Bootstrap: gives this process its rank in a communicator, and exchanges the data with which its
// ranks find each other. Here it goes through PMIx; in group.hpp, through the parent communicator.
#pragma once

#include <memory>
#include <string>

#include "sys/result.hpp"

namespace batchai::coll {

class Bootstrap {
  public:
    Bootstrap() = default;
    Bootstrap(const Bootstrap&) = delete;
    Bootstrap& operator=(const Bootstrap&) = delete;
    virtual ~Bootstrap() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;
    // Collective: publishes this rank's value, if it has one, and waits until all ranks have
    // published.
    virtual sys::Result<void> publish(const std::string& key, const std::string& value) = 0;
    // The value that a rank has published under the key.
    virtual sys::Result<std::string> lookup(int rank, const std::string& key) const = 0;
    // Collective, the last call: waits for all.
    virtual sys::Result<void> leave() = 0;
};

// All ranks of the job. A process that no PMIx server has started is a job of one rank.
// May be called again after the Bootstrap's end, in step with all other ranks, by the same
// processes or by those of a later program of the ranks: the n-th ones of the processes belong
// together.
sys::Result<std::unique_ptr<Bootstrap>> bootstrap_through_pmix();

// The name of the node that this process counts as: BATCHAI_COLL_NODE, so that the ranks of one
// host may count as several nodes; PMIX_HOSTNAME, set by PMIx servers; the host's name.
std::string node_name();
// The same for two processes exactly if they reach each other through the loopback.
std::string host_name();

}  // namespace batchai::coll
