// SPDX-License-Identifier: Apache-2.0
//
// Bootstraps for communicators that have some ranks of a parent communicator.
//
// Group: publishes through the parent, so all ranks of the parent take part in every publish(),
// members or not. Acquaintances: publishes through an allgather that the caller provides for the
// member ranks.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "collectives/comm/bootstrap.hpp"
#include "collectives/comm/engine.hpp"

namespace batchai::coll {

class Group final : public Bootstrap {
  public:
    // members: ranks of the parent, ascending. parent_rank: this rank's number in the parent.
    Group(Engine& parent, int parent_rank, int parent_size, std::vector<int> members);

    bool is_member() const { return rank_ >= 0; }
    int rank() const override { return rank_; }
    int size() const override { return static_cast<int>(members_.size()); }
    sys::Result<void> publish(const std::string& key, const std::string& value) override;
    sys::Result<std::string> lookup(int rank, const std::string& key) const override;
    // Does not wait: the communicator's connections stay until the parent ends.
    sys::Result<void> leave() override { return {}; }

  private:
    sys::Result<void> allgather(Signature signature, const void* send, void* receive,
                                const std::vector<std::size_t>& counts);

    Engine& parent_;
    int parent_size_;
    std::vector<int> members_;
    int rank_ = -1;
    std::map<std::string, std::vector<std::string>> published_;  // by key, then by member
};

class Acquaintances final : public Bootstrap {
  public:
    // An allgather of `bytes` bytes of every rank, in rank order. Returns whether it succeeded.
    using Exchange = std::function<bool(const void* own, std::size_t bytes, void* all)>;

    Acquaintances(int rank, int size, Exchange exchange);
    int rank() const override { return rank_; }
    int size() const override { return size_; }
    sys::Result<void> publish(const std::string& key, const std::string& value) override;
    sys::Result<std::string> lookup(int rank, const std::string& key) const override;
    // Does not wait, like Group.
    sys::Result<void> leave() override { return {}; }

  private:
    int rank_, size_;
    Exchange exchange_;
    std::map<std::string, std::vector<std::string>> published_;  // by key, then by rank
};

}  // namespace batchai::coll
