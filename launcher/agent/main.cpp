// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "launcher/agent/agent.hpp"
#include "launcher/agent/guard.hpp"
#include "launcher/common/bootstrap.hpp"
#include "launcher/common/door.hpp"
#include "launcher/common/exit_code.hpp"
#include "launcher/common/say.hpp"
#include "launcher/common/tls.hpp"
#include "sys/digest.hpp"
#include "sys/tcp_owner.hpp"

namespace batchai::launcher {
namespace {

std::string read_line(int fd) {
    std::string line;
    for (char c; line.size() < 65536 && ::read(fd, &c, 1) == 1;) {
        line += c;
        if (c == '\n') break;
    }
    return line;
}

const char* variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// A container or a batch system may run a process without HOME, as a user that the node does not
// know. libpmix then crashes, in this process and in ranks.
void give_home() {
    if (std::getenv("HOME") == nullptr && ::getpwuid(::geteuid()) == nullptr) {
        ::setenv("HOME", "/", 1);
    }
}

}  // namespace

int agent_main() {
    // Loads OpenSSL early: srun passes its input on only when the agents of all nodes run.
    (void)TlsKey::make({});
    auto bootstrap = decode_bootstrap(read_line(STDIN_FILENO));
    if (!bootstrap) {
        std::fputs("batchai-launch: --agent is for batchai-launch itself\n", stderr);
        return kOwnFailure;
    }
    if (bootstrap->node < 0) {
        bootstrap->node = std::atoi(variable("SLURM_NODEID"));
        bootstrap->name = variable("SLURMD_NODENAME");
    }
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(null, STDIN_FILENO);
    ::close(null);
    give_home();
    // The same name on all nodes: an mpirun in a rank gives Open MPI's variable with the directory
    // to processes on other nodes.
    Guarded guarded = start_guard(bootstrap->name,
                                  bootstrap->node == 0 ? bootstrap->owned_directory : std::string(),
                                  sys::sha256(bootstrap->key).substr(0, 6));
    auto key = TlsKey::make(bootstrap->key);
    if (!key) {
        say(bootstrap->name + ": " + key.error().message);
        return kOwnFailure;
    }
    auto link = connect_to(bootstrap->endpoints, *key);
    if (!link) {
        say(
            fmt::format("{}: cannot reach batchai-launch: {}. With --interface, name a network "
                        "that all nodes reach.",
                        bootstrap->name, link.error().message));
        return kOwnFailure;
    }
    // Without tcp_owner() the PMIx and Gloo servers would refuse the ranks.
    std::string trouble;
    if (const auto owner = sys::tcp_owner(link->socket.get(), sys::End::own); !owner) {
        trouble = owner.error().in("cannot tell which user holds a TCP connection").message +
                  ". Load the kernel module tcp_diag";
    }
    Agent agent(std::move(*bootstrap), std::move(guarded), std::move(*key), std::move(*link));
    // Not destroyed: the PMIx library's thread still runs (pmix/server.hpp).
    std::_Exit(agent.run(trouble));
}

}  // namespace batchai::launcher
