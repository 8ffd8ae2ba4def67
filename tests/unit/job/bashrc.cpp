// SPDX-License-Identifier: Apache-2.0
#include "job/bashrc.hpp"

#include <boost/test/unit_test.hpp>

#include "job/plan.hpp"
#include "samples.hpp"

namespace batchai::job {
namespace {

BOOST_AUTO_TEST_SUITE(bashrc)

BOOST_AUTO_TEST_CASE(only_ranks_of_mpi_note_what_a_preparation_adds) {
    JobSpec spec;
    spec.node_count = 2;
    spec.preparation_command = "it's here";
    for (const auto& [type, backend, is_mpi] : {std::tuple{"horovod", "", true},
                                                {"custommpi", "", true},
                                                {"cntk", "", true},
                                                {"chainer", "", true},
                                                {"caffe", "", true},
                                                {"pytorch", "mpi", true},
                                                {"pytorch", "gloo", false},
                                                {"tensorflow", "", false},
                                                {"custom", "", false},
                                                {"caffe2", "", false}}) {
        spec.toolkit.type = type;
        spec.toolkit.backend = backend;
        const std::string command = resolve_preparation(SitePolicy(), spec).command;
        BOOST_TEST((command == (is_mpi ? noting_bashrc("it's here") : "it's here")), type);
    }
    spec.preparation_command.reset();
    spec.toolkit.type = "horovod";
    BOOST_TEST(resolve_preparation(SitePolicy(), spec).command.empty());
}

BOOST_AUTO_TEST_CASE(a_rank_reads_the_copy_before_its_command) {
    BOOST_TEST(reading_bashrc("python a.py") == ". \"$AZ_BATCHAI_JOB_TEMP/.bashrc\"; python a.py");
    // One line besides the command's own, for the shell's messages.
    BOOST_TEST(noting_bashrc("true").find('\n') == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace batchai::job
