// SPDX-License-Identifier: Apache-2.0
//
// gpu_bench [--brief] [--json FILE] - measures one GPU and the library on it, and prints a table in
// which each figure stands beside its bound. --brief: does all once, and with less memory, to see
// that it runs. Exit: 0; 1 where a part failed or left out a row; 2 for wrong usage; 77 where there
// is no GPU: then every row says "not measured".
#include <cstdio>
#include <fstream>

#include "../harness.hpp"
#include "parts.hpp"

using namespace batchai::coll::gpu;

namespace {

std::vector<Row> all_rows() {
    std::vector<Row> rows = machine_rows();
    for (const auto& more : {reduction_rows(), copy_rows(), staging_rows(), allreduce_rows()}) {
        rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
}

bool measure(const char* what, void (*part)(Figures&), Figures& figures) {
    try {
        part(figures);
        return true;
    } catch (const std::exception& error) {
        std::printf("%s: %s\n", what, error.what());
        return false;
    }
}

}  // namespace

int main(int argc, char** argv) {
    const char* json = nullptr;
    for (int i = 1; i < argc; ++i) {
        const std::string given = argv[i];
        if (given == "--brief") {
            machine().brief = true;
        } else if (given == "--json" && i + 1 < argc) {
            json = argv[++i];
        } else {
            std::fputs("usage: gpu_bench [--brief] [--json FILE]\n", stderr);
            return 2;
        }
    }
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    Figures figures(all_rows());
    int code = 0;
    if (const std::string why = look_for_gpus(); !why.empty()) {
        std::printf("skipped: no GPU (%s)\n", why.c_str());
        code = 77;
    } else {
        const bool good = measure("copies", measure_machine, figures) &
                          measure("reductions", measure_reductions, figures) &
                          measure("packing", measure_copies, figures) &
                          measure("staging", measure_staging, figures) &
                          measure("allreduces", measure_allreduces, figures);
        code = good && figures.complete() ? 0 : 1;
    }
    std::fputs(figures.table().c_str(), stdout);
    if (json != nullptr && !(std::ofstream(json) << figures.json())) {
        std::fprintf(stderr, "gpu_bench: cannot write %s\n", json);
        return 1;
    }
    return code;
}
