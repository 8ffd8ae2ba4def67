// SPDX-License-Identifier: Apache-2.0
//
// The limits that the benchmark's figures are fractions of:
//
//   roofline memory RANKS MILLISECONDS BYTES...    in one process, a thread for each rank
//   roofline wire MILLISECONDS BYTES...            by a launcher, one rank on each node; needs
//   $BENCH_STORE
#include "roofline.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace batchai::bench {
namespace {

std::filesystem::path place(const Ranks& ranks, const std::string& name, int rank) {
    return std::filesystem::path(ranks.store) / (name + "." + std::to_string(rank));
}

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr) throw std::runtime_error(std::string(name) + " is not set");
    return value;
}

}  // namespace

void tell(const Ranks& ranks, const std::string& name, const std::string& value) {
    const auto path = place(ranks, name, ranks.rank);
    const auto unfinished = path.string() + ".new";
    std::ofstream(unfinished, std::ios::binary) << value;
    std::filesystem::rename(unfinished, path);
}

std::string ask(const Ranks& ranks, const std::string& name, int rank) {
    using namespace std::chrono_literals;
    const auto path = place(ranks, name, rank);
    while (!std::filesystem::exists(path)) std::this_thread::sleep_for(1ms);
    std::ostringstream value;
    value << std::ifstream(path, std::ios::binary).rdbuf();
    return value.str();
}

int run(const std::vector<std::string>& arguments) {
    const std::string what = arguments.empty() ? "" : arguments[0];
    const std::size_t options = what == "memory" ? 3 : 2;
    if ((what != "memory" && what != "wire") || arguments.size() < options) {
        throw std::runtime_error(
            "usage: roofline memory RANKS MILLISECONDS BYTES... | wire MILLISECONDS BYTES...");
    }
    const double milliseconds = std::stod(arguments[options - 1]);
    std::vector<std::size_t> sizes;
    for (std::size_t i = options; i < arguments.size(); ++i)
        sizes.push_back(std::stoull(arguments[i]));
    if (what == "memory") {
        measure_flag();
        measure_copies(std::stoi(arguments[1]), milliseconds, sizes);
    } else {
        const Ranks ranks{std::stoi(variable("RANK")), std::stoi(variable("WORLD_SIZE")),
                          variable("BENCH_STORE")};
        measure_ucx(ranks);
        measure_streams(ranks, milliseconds / 1000);
        measure_exchanges(ranks, milliseconds / 5000, sizes);
    }
    return 0;
}

}  // namespace batchai::bench

int main(int argc, char** argv) {
    try {
        return batchai::bench::run({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "roofline: %s\n", error.what());
        return 1;
    }
}
