// SPDX-License-Identifier: Apache-2.0
#include "spank/check/cluster.hpp"

#include <fcntl.h>

#include <chrono>
#include <set>
#include <sstream>
#include <string>

#include "sys/pipe.hpp"
#include "sys/subprocess.hpp"

namespace batchai::spank {

std::optional<int> count_cluster_nodes() {
    constexpr std::chrono::seconds kLongest{10};
    auto output = sys::make_pipe();
    const sys::UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!output || !null) return std::nullopt;
    sys::Program program{{"sinfo", "--noheader", "--Node", "--format=%N"}};
    program.out = output->write.get();
    program.err = null.get();
    const auto sinfo = sys::Subprocess::start(program);  // its destructor ends a late one
    if (!sinfo) return std::nullopt;
    output->write.reset();
    const auto deadline = std::chrono::steady_clock::now() + kLongest;
    std::istringstream lines(sys::read_until({output->read.get()}, deadline)[0]);
    // A node is listed once per partition.
    std::set<std::string> nodes;
    for (std::string line; std::getline(lines, line);) nodes.insert(line);
    if (nodes.empty()) return std::nullopt;
    return static_cast<int>(nodes.size());
}

}  // namespace batchai::spank
