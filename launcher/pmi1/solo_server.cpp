// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmi1/solo_server.hpp"

namespace batchai::launcher::pmi1 {

sys::Result<std::unique_ptr<SoloServer>> SoloServer::listen(
    Loop& loop, std::string name, std::function<void()> on_spawn_refused) {
    std::unique_ptr<SoloServer> self(
        new SoloServer(loop, std::move(name), std::move(on_spawn_refused)));
    auto port = OwnPort::listen(loop, "PMI-1", [server = self.get()](sys::UniqueFd connection) {
        server->serve(std::move(connection));
    });
    if (!port) return port.error();
    self->port_ = std::move(*port);
    return self;
}

void SoloServer::serve(sys::UniqueFd connection) {
    std::erase_if(programs_, [](const Program& program) { return !program.server.connected(); });
    if (programs_.size() < kMostPrograms) {
        programs_.emplace_back(*this, std::move(connection));
    }
}

// The program is the only member of its barriers, so each barrier ends at once.
SoloServer::Program::Program(SoloServer& owner, sys::UniqueFd connection)
    : server(owner.loop_,
             {[](int) {}, [](int) {},
              [this](Fence fence) {
                  server.on_fence_done({fence.id, fence.status, 0, std::move(fence.data)});
              },
              [](int, int, const std::string&) {}, [&owner](int) { owner.on_spawn_refused_(); }},
             {owner.name_, 1, "(vector,(0,1,1))"}) {
    server.adopt(0, std::move(connection));
}

}  // namespace batchai::launcher::pmi1
