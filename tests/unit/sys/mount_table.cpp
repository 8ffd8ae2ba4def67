// SPDX-License-Identifier: Apache-2.0
#include "sys/mount_table.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>

#include "sys/unique_fd.hpp"

using namespace batchai::sys;

namespace {

constexpr char kMounts[] =
    "22 1 254:0 / / rw,relatime - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w\n"
    "23 22 0:20 / /run rw,nosuid shared:5 - tmpfs tmpfs rw,mode=755\n"
    "24 23 0:21 / /run/a\\040b rw,nosuid,nodev shared:6 master:1 - fuse.sshfs x:\\040user_id=0 "
    "rw,user_id=2001,group_id=0,allow_other\n"
    "25 23 0:22 / /run/site rw - fuse.s3fs s3fs rw,nosuid,user_id=0,group_id=0,allow_other\n"
    "26 23 0:23 / /run/blk rw - fuseblk /dev/sdb rw,user_id=20,group_id=0\n"
    "27 23 0:24 / /run/over rw - overlay overlay rw,lowerdir=/l\n"
    "28 22 0:25 / /nfs rw - nfs4 server:/x rw,vers=4.2\n"
    "29 23 0:26 / /run/fusex rw - fusectl fusectl rw,user_id=2001\n"
    "a line that the kernel does not write\n"
    "30 23 0:27 / /run/site rw - xfs /dev/sdc rw\n";

Server server_at(const char* path) {
    const MountTable table(kMounts);
    const MountEntry* const entry = table.at(path);
    BOOST_REQUIRE(entry != nullptr);
    return server_of(*entry);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mount_table)

BOOST_AUTO_TEST_CASE(the_mount_of_a_path_is_the_longest_and_the_last) {
    const MountTable table(kMounts);
    BOOST_TEST(table.at("/etc")->id == 22);
    BOOST_TEST(table.at("/run")->id == 23);
    BOOST_TEST(table.at("/runner")->id == 22);
    BOOST_TEST(table.at("/run/a b/c")->id == 24);
    BOOST_TEST(table.at("/run/site/x")->id == 30);
    BOOST_TEST(table.at("/run")->shared);
    BOOST_TEST(!table.at("/nfs")->shared);
    BOOST_TEST((MountTable("").at("/") == nullptr));
}

BOOST_AUTO_TEST_CASE(a_user_serves_what_a_user_has_mounted_with_fuse) {
    BOOST_TEST((server_at("/run/a b") == Server::user));
    BOOST_TEST((server_at("/run/blk") == Server::user));
    BOOST_TEST((server_at("/run/site") == Server::root));
    BOOST_TEST((server_at("/nfs") == Server::root));
    BOOST_TEST((server_at("/run/fusex") == Server::root));  // the kernel's own
    BOOST_TEST((server_at("/run/over") == Server::layers));
    BOOST_TEST((server_at("/") == Server::root));
    BOOST_TEST(MountTable(kMounts).has(Server::user));
    BOOST_TEST(!MountTable("").has(Server::user));
    BOOST_TEST(describe(*MountTable(kMounts).at("/run/a b")) ==
               "fuse.sshfs of user 2001 at /run/a b");
    BOOST_TEST(describe(*MountTable(kMounts).at("/run/over")) == "overlay at /run/over");
}

BOOST_AUTO_TEST_CASE(an_open_file_has_the_mount_that_statx_names) {
    const auto table = MountTable::read();
    BOOST_REQUIRE(table);
    for (const int flags : {O_PATH, O_RDONLY | O_DIRECTORY}) {
        const UniqueFd file(::open("/proc/self", flags | O_CLOEXEC));
        struct statx info = {};
        BOOST_REQUIRE(::statx(file.get(), "", AT_EMPTY_PATH, STATX_MNT_ID, &info) == 0);
        BOOST_REQUIRE((table->of(file.get()) != nullptr));
        BOOST_TEST(static_cast<__u64>(table->of(file.get())->id) == info.stx_mnt_id);
        BOOST_TEST(table->of(file.get())->type == "proc");
    }
    BOOST_TEST((table->of(-1) == nullptr));
}

BOOST_AUTO_TEST_SUITE_END()
