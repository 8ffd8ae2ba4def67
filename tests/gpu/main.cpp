// SPDX-License-Identifier: Apache-2.0
//
// gpu_tests [--brief] [NAME...] - runs the tests, those whose names begin with one that is given,
// a line each, and says how many have passed. Exit: 0; 1 where one failed; 77 where there is no
// GPU.
#include <cstdio>

#include "harness.hpp"

using namespace batchai::coll;
using namespace batchai::coll::gpu;

namespace {

bool is_wanted(const Test& test, const std::vector<std::string>& names) {
    if (names.empty()) return test.brief || !machine().brief;
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return test.name.rfind(name, 0) == 0; });
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> names(argv + 1, argv + argc);
    const auto brief = std::find(names.begin(), names.end(), "--brief");
    if (brief != names.end()) {
        machine().brief = true;
        names.erase(brief);
    }
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (const std::string why = look_for_gpus(); !why.empty()) {
        std::printf("skipped: no GPU (%s)\n", why.c_str());
        return 77;
    }

    int passed = 0, skipped = 0, failed = 0;
    for (const Test& test : tests()) {
        if (!is_wanted(test, names)) continue;
        const auto begin = std::chrono::steady_clock::now();
        std::string end = "ok";
        try {
            test.run();
            ++passed;
        } catch (const Skipped& why) {
            end = std::string("skipped: ") + why.what();
            ++skipped;
        } catch (const std::exception& error) {
            end = std::string("FAILED: ") + error.what();
            ++failed;
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        std::printf("%s: %s (%.1f s)\n", test.name.c_str(), end.c_str(), took.count());
    }
    std::printf("%d passed, %d skipped, %d failed\n", passed, skipped, failed);
    return failed == 0 ? 0 : 1;
}
