// SPDX-License-Identifier: Apache-2.0
//
// Bootstrap: gives this process its rank in a communicator, and exchanges the data with which the
// ranks find each other. This file's implementation uses PMIx; those of group.hpp use a parent
// communicator or the caller's exchange.
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
    // Collective: publishes this rank's value, unless it is empty, and waits until all ranks have
    // published.
    virtual sys::Result<void> publish(const std::string& key, const std::string& value) = 0;
    // The value that a rank has published under the key.
    virtual sys::Result<std::string> lookup(int rank, const std::string& key) const = 0;
    // Collective, and the last call: waits for all ranks.
    virtual sys::Result<void> leave() = 0;
};

// All ranks of the job. A process that was not started by a PMIx server is a job of one rank. After
// the Bootstrap has ended, all ranks may call this function again in step, from the same processes
// or from a rank's later program. The n-th calls of all ranks form one communicator.
sys::Result<std::unique_ptr<Bootstrap>> bootstrap_through_pmix();

// The name of the node that this process counts as, from the first of these that is set:
// BATCHAI_COLL_NODE, by which ranks of one host can count as several nodes; PMIX_HOSTNAME, from the
// PMIx server; the host's name.
std::string node_name();
// Equal for two processes exactly if they reach each other through the loopback.
std::string host_identity();

}  // namespace batchai::coll
