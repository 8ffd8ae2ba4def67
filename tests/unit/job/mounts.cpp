// SPDX-License-Identifier: Apache-2.0
#include <boost/test/data/test_case.hpp>

#include "job/plan.hpp"
#include "samples.hpp"
#include "tests/unit/make_mount.hpp"
#include "tests/unit/printing.hpp"

using namespace batchai::job;

BOOST_AUTO_TEST_CASE(reads_mounts_that_the_policy_allows) {
    const auto mounts =
        parse_mounts("/scratch/me:data:ro,tmpfs:fast:size=32M,/sw/x:sw/x:ro,/scratch:s:rw+noexec",
                     samples::policy());
    BOOST_REQUIRE(mounts.has_value());
    BOOST_TEST(mounts->size() == 4u);
    BOOST_TEST((*mounts)[0].read_only);
    BOOST_TEST((*mounts)[1].size == "32M");
    BOOST_TEST((*mounts)[2].read_only);
    BOOST_TEST((*mounts)[3].no_exec);
    BOOST_TEST(!(*mounts)[3].read_only);
}

BOOST_AUTO_TEST_CASE(gives_what_can_be_written_in_memory_a_size) {
    const auto mounts = parse_mounts("tmpfs:a,overlay=/sw/x:b", samples::policy());
    BOOST_REQUIRE(mounts.has_value());
    BOOST_TEST((*mounts)[0].size == "64M");
    BOOST_TEST((*mounts)[1].source == "/sw/x");
    BOOST_TEST((*mounts)[1].size == "1G");
}

BOOST_AUTO_TEST_CASE(the_closest_entry_decides) {
    const auto mounts = parse_mounts("/scratch/archive/x:a,/scratch/archives:b", samples::policy());
    BOOST_REQUIRE(mounts.has_value());
    BOOST_TEST((*mounts)[0].read_only);
    BOOST_TEST(!(*mounts)[1].read_only);
}

BOOST_AUTO_TEST_CASE(takes_a_source_as_a_shell_completes_it) {
    const auto mounts = parse_mounts("/scratch/my data@home/:x", samples::policy());
    BOOST_REQUIRE(mounts.has_value());
    BOOST_TEST((*mounts)[0].source == "/scratch/my data@home");
}

BOOST_AUTO_TEST_CASE(a_read_only_entry_makes_every_mount_read_only) {
    const auto mounts = parse_mounts("/sw:sw", samples::policy());
    BOOST_TEST((*mounts)[0].read_only);
}

const char* const kRefused[] = {
    "/etc:x",                     // not named by the policy
    "/scratchy:x",                // a neighbour by name only
    "/scratch/../etc:x",          // out of the allowed directory
    "/scratch:../x",              // out of the mount root
    "/scratch:/x",                // absolute
    "/scratch:a//b",              // empty component
    "/scratch:.",                 //
    "/scratch:x\ny",              // newline
    "/scratch",                   // no target
    "/scratch:x:ro:rw",           // too many fields
    "/scratch:x:suid",            // not an option
    "/scratch:x:ro+size=3M",      // a bind has no size
    "tmpfs:x:size=65M",           // over the limit
    "tmpfs:x:size=-1",            //
    "tmpfs:x:size=99999999999G",  // overflows
    "/sw:x:rw",                   // the entry is read-only
    "/scratch:x:ro+rw",           // which?
    "/scratch:x:",                // an option without a name
    "/scratch:x:size=3M",         // a bind has no size
    "/scratch/a\nb:x",            // newline
    "/scratch//a:x",              //
    "/scratch/./a:x",             //
    "/:x",                        //
    "overlay=/scratch:x",         // no overlay entry
    "overlay=:x",                 //
    "overlay=tmpfs:x",            //
    "/scratch:x,tmpfs:x",         // one target twice
    "",
    ",",
    "scratch:x",
};

BOOST_DATA_TEST_CASE(refuses_what_the_policy_does_not_allow, boost::unit_test::data::make(kRefused),
                     text) {
    BOOST_TEST(!parse_mounts(text, samples::policy()).has_value());
}

BOOST_AUTO_TEST_CASE(refuses_more_mounts_than_root_takes) {
    std::string option = "tmpfs:0";
    for (std::size_t i = 1; i < kMostMounts; ++i) option += ",tmpfs:" + std::to_string(i);
    BOOST_TEST(parse_mounts(option, samples::policy()).has_value());
    const auto refused = parse_mounts(option + ",tmpfs:more", samples::policy());
    BOOST_TEST(refused.error().message == "64 mounts: a job may have at most 63");
}

BOOST_AUTO_TEST_CASE(reads_images_volumes_and_what_programs_mount) {
    SitePolicy policy = samples::policy();
    policy.programs["squashfuse"] = {{"/usr/bin/squashfuse"}};
    const auto allow = [&](MountType type, const std::string& source, const std::string& name = "",
                           const std::string& program = "") {
        AllowPolicy entry;
        entry.name = name;
        entry.file_system.type = type;
        entry.file_system.source = source;
        entry.file_system.program = program;
        policy.allowed.push_back(entry);
        return entry_name(entry);
    };
    allow(MountType::squashfs, "/images");
    const EntryName archive = allow(MountType::nfs, "nfs:/archive", "archive");
    const EntryName fuse = allow(MountType::fuse, "/home", "", "squashfuse");
    const auto mounts = parse_mounts(
        "squashfs=/images/a.sqsh:a,volume=archive/2018:b:ro,squashfuse=/home/u/x y.sqsh:c,"
        "volume=archive:d",
        policy);
    BOOST_REQUIRE(mounts.has_value());
    std::vector<Mount> expected = {
        make_mount(MountType::squashfs, "/images/a.sqsh", "a"),
        make_mount(MountType::nfs, "nfs:/archive/2018", "b", archive, "2018"),
        make_mount(MountType::fuse, "/home/u/x y.sqsh", "c", fuse, "u/x y.sqsh"),
        make_mount(MountType::nfs, "nfs:/archive", "d", archive)};
    expected[1].read_only = true;
    BOOST_TEST(*mounts == expected);
    for (const Mount& mount : *mounts)
        if (mount.kind().is_remote) BOOST_TEST(find_entry(policy, mount.entry)->type == mount.type);
    for (const char* refused :
         {"squashfs=/scratch/a:a", "squashfuse=/etc/x:a", "volume=other:a", "volume=archive/../x:a",
          "volume=/archive:a", "volume=:a", "volume=archive:a:size=1M", "squashfuse=x:a",
          "nfs=/archive:a", "squashfs=/images/../etc:a", "archive:a"})
        BOOST_TEST(!parse_mounts(refused, policy).has_value(), refused);
}

BOOST_AUTO_TEST_CASE(plans_a_share_at_its_relative_path) {
    JobSpec spec = parse_job(samples::tutorial(), "job.json").spec.value();
    spec.volumes[0].directory = "sub";
    const auto mounts = plan_mounts(spec, samples::policy());
    BOOST_TEST((*mounts)[0].source == "/srv/myshare/sub");
    BOOST_TEST((*mounts)[0].target == "myshare");
}
