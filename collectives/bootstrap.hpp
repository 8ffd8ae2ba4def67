// SPDX-License-Identifier: Apache-2.0
//
// Bootstrap: who the ranks of the job are, and the exchange of what they need to find each other,
// through PMIx. A process that no PMIx server has started is a job of one rank.
//
// May be opened again after its end, in step with all other ranks: the n-th Bootstraps of the
// processes belong together.
#pragma once

#include <pmix.h>

#include <memory>
#include <string>

#include "sys/result.hpp"

namespace batchai::coll {

class Bootstrap {
  public:
    static sys::Result<std::unique_ptr<Bootstrap>> open();
    Bootstrap(const Bootstrap&) = delete;
    Bootstrap& operator=(const Bootstrap&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }

    // Collective: publishes this rank's value, if it has one, and waits for all others' to be
    // there.
    sys::Result<void> publish(const std::string& key, const std::string& value);
    // What a rank has published under the key.
    sys::Result<std::string> lookup(int rank, const std::string& key) const;
    // Collective: waits for all.
    sys::Result<void> fence() const { return fence(false); }

  private:
    Bootstrap() = default;
    sys::Result<void> fence(bool collect) const;
    std::string scoped(const std::string& key) const;

    pmix_proc_t self_{};
    bool connected_ = false;
    unsigned epoch_ = 0;
    int rank_ = 0, size_ = 1;
};

// The name of the node that this process counts as: BATCHAI_COLL_NODE, so that the ranks of one
// host may count as several nodes; PMIX_HOSTNAME, set by PMIx servers; the host's name.
std::string node_name();
// The same for two processes exactly if they reach each other through the loopback.
std::string host_name();

}  // namespace batchai::coll
