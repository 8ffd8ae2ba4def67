// SPDX-License-Identifier: Apache-2.0
//
// All functions that Slurm calls. Each passes on to the part of the plugin for its context.
//
// This library holds no thread, exception, C++ library or global constructor: Slurm loads it into
// srun, sbatch, slurmd and each slurmstepd. Remote `init`, `init_post_opt` and `user_init` must not
// fail (nodes would drain), so they do nothing.
extern "C" {
#include <slurm/spank.h>
}
#include <stdlib.h>

#include "spank/plugin.hpp"

#define BATCHAI_EXPORT __attribute__((visibility("default"), used))

using batchai::spank::site;
namespace slurm = batchai::spank::slurm;

// `batchai admin check` finds this text in the file, as what(1) does. It is not exported.
__attribute__((used)) static const char built_for[] =
    "@(#)batchai plugin " BATCHAI_VERSION " for Slurm " BATCHAI_SLURM;

extern "C" {

// Not SPANK_PLUGIN: its constants would have internal linkage in C++.
BATCHAI_EXPORT extern const char plugin_name[] = "batchai";
BATCHAI_EXPORT extern const char plugin_type[] = "spank";
BATCHAI_EXPORT extern const unsigned int plugin_version = SLURM_VERSION_NUMBER;
BATCHAI_EXPORT extern const unsigned int spank_plugin_version = 1;
BATCHAI_EXPORT int slurm_spank_init(spank_t spank, int argc, char** argv) {
    switch (slurm::context()) {
        case slurm::Context::srun:
        case slurm::Context::allocator:
            batchai::spank::forget_submission(slurm::context() == slurm::Context::allocator);
            [[fallthrough]];
        case slurm::Context::task:
            batchai::spank::register_options(spank);
            break;
        case slurm::Context::slurmd:
            batchai::spank::name_unknown_words(argc, argv);
            batchai::spank::sweep(site(argc, argv));
            break;
        default:
            break;
    }
    return 0;
}

BATCHAI_EXPORT int slurm_spank_init_post_opt(spank_t spank, int argc, char** argv) {
    const slurm::Context context = slurm::context();
    if (context != slurm::Context::srun && context != slurm::Context::allocator) return 0;
    // Nothing is submitted yet, and the user has the message, so end here. A return value would add
    // Slurm's own lines, and has no effect if plugstack.conf says "optional".
    if (!batchai::spank::check_submission(spank, site(argc, argv),
                                          context == slurm::Context::allocator))
        exit(1);
    return 0;
}

BATCHAI_EXPORT int slurm_spank_local_user_init(spank_t spank, int, char**) {
    batchai::spank::forget_other_job(spank);
    return 0;
}

BATCHAI_EXPORT int slurm_spank_task_init_privileged(spank_t spank, int argc, char** argv) {
    batchai::spank::enter_job(spank, site(argc, argv));
    return 0;
}

BATCHAI_EXPORT int slurm_spank_task_init(spank_t spank, int argc, char** argv) {
    batchai::spank::prepare_job(spank, site(argc, argv));
    return 0;
}

BATCHAI_EXPORT int slurm_spank_job_prolog(spank_t spank, int argc, char** argv) {
    batchai::spank::note_options(spank);
    batchai::spank::continue_ends(site(argc, argv));
    return 0;
}

BATCHAI_EXPORT int slurm_spank_job_epilog(spank_t spank, int argc, char** argv) {
    batchai::spank::end_job(spank, site(argc, argv));
    return 0;
}

}  // extern "C"
