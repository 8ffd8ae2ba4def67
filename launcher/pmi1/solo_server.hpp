// SPDX-License-Identifier: Apache-2.0
//
// SoloServer: PMI-1 for the only rank of a job. The rank's script may start several MPI programs,
// in turn or side by side. Each program is a job of one rank, with a connection of its own to
// PMI_PORT. MPICH 4 also starts without a server. MPICH 5 does not, because it sees that PMIx is
// offered.
//
// The launcher ignores what such a program reports about its end, and judges the rank by its exit
// code.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "launcher/common/own_port.hpp"
#include "launcher/pmi1/server.hpp"

namespace batchai::launcher::pmi1 {

class SoloServer {
  public:
    // on_spawn_refused: a program has asked for new processes.
    static sys::Result<std::unique_ptr<SoloServer>> listen(Loop& loop, std::string name,
                                                           std::function<void()> on_spawn_refused);

    // The value of PMI_PORT. PMI_ID is 0.
    std::string address() const { return "127.0.0.1:" + std::to_string(port_->number()); }

  private:
    struct Program {
        Program(SoloServer& owner, sys::UniqueFd connection);
        Server server;
    };
    SoloServer(Loop& loop, std::string name, std::function<void()> on_spawn_refused)
        : loop_(loop), name_(std::move(name)), on_spawn_refused_(std::move(on_spawn_refused)) {}
    void serve(sys::UniqueFd connection);

    // Programs at one time; below an agent's usual limit of 1024 descriptors.
    static constexpr std::size_t kMostPrograms = 512;

    Loop& loop_;
    const std::string name_;
    const std::function<void()> on_spawn_refused_;
    std::list<Program> programs_;  // programs that have left stay until the next one connects
    std::unique_ptr<OwnPort> port_;
};

}  // namespace batchai::launcher::pmi1
