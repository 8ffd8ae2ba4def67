// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/mount.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/unit/make_mount.hpp"
#include "tests/unit/temporary_directory.hpp"

using namespace batchai;
using job::MountType;

namespace {

struct Site {
    Site() {
        for (const auto* name : {"share", "share/sub", "readonly", "sharex", "other"})
            std::filesystem::create_directory(directory / name);
        std::filesystem::create_directory_symlink(directory / "share", directory / "link");
        policy.volumes.push_back({});
        policy.volumes[0].file_system = file_system(MountType::bind, directory / "share");
        allow(file_system(MountType::bind, directory / "readonly", true));
        allow(file_system(MountType::bind, directory / "gone"));
        allow(file_system(MountType::tmpfs, "", false, "64M"));
        allow(file_system(MountType::overlay, directory / "readonly", false, "1M"));
    }

    static job::FileSystem file_system(MountType type, const std::string& source,
                                       bool read_only = false, const std::string& size = "1G") {
        job::FileSystem made;
        made.type = type;
        made.source = source;
        made.read_only = read_only;
        made.max_size = size;
        return made;
    }
    void allow(const job::FileSystem& entry) { policy.allowed.push_back({"", entry}); }

    sys::Result<job::Mount> approve(MountType type, const std::string& name,
                                    const std::string& size = "", bool read_only = false) const {
        const std::string source = name.empty() ? "" : directory / name;
        job::Mount mount = job::mount_of({}, file_system(type, source, read_only), "");
        mount.target = "t";
        mount.size = size;
        return spank::approve(mount, source, policy);
    }

    test::TemporaryDirectory directory;
    job::SitePolicy policy;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(allowlist, Site)

BOOST_AUTO_TEST_CASE(no_target_is_one_of_batchais_own_or_leads_out_of_the_mount_root) {
    job::Mount mount = job::mount_of({}, file_system(MountType::bind, directory / "share"), "");
    for (const char* target :
         {".temp", ".temp/a", ".batchai", ".batchai/home", "", "/a", "..", "a/../.temp"}) {
        mount.target = target;
        BOOST_TEST(!spank::approve(mount, directory / "share", policy), target);
    }
    for (const char* target : {"temp", ".temper", "a/.batchai", "batchai"}) {
        mount.target = target;
        BOOST_TEST(spank::approve(mount, directory / "share", policy).has_value(), target);
    }
}

BOOST_AUTO_TEST_CASE(a_share_and_what_is_below_it_are_allowed) {
    BOOST_TEST(approve(MountType::bind, "share").has_value());
    BOOST_TEST(approve(MountType::bind, "share/sub").has_value());
    BOOST_TEST(!approve(MountType::bind, "share")->read_only);
    BOOST_TEST(approve(MountType::bind, "share", "", true)->read_only);
}

BOOST_AUTO_TEST_CASE(everything_else_is_refused) {
    for (const auto* name : {"other", "sharex", "", "../", "share (deleted)"})
        BOOST_TEST(!approve(MountType::bind, name), name);
    BOOST_TEST(!approve(MountType::overlay, "share"));
    const job::Mount root = make_mount(MountType::bind, "/", "t");
    BOOST_TEST(!spank::approve(root, "/", policy));
}

BOOST_AUTO_TEST_CASE(an_admins_symbolic_link_is_followed) {
    policy.volumes[0].file_system.source = directory / "link";
    BOOST_TEST(approve(MountType::bind, "share/sub").has_value());
    BOOST_TEST(!approve(MountType::bind, "other"));
}

BOOST_AUTO_TEST_CASE(a_read_only_entry_makes_the_mount_read_only) {
    BOOST_TEST(approve(MountType::bind, "readonly")->read_only);
}

BOOST_AUTO_TEST_CASE(sizes_are_limited) {
    BOOST_TEST(approve(MountType::tmpfs, "", "64M").has_value());
    BOOST_TEST(!approve(MountType::tmpfs, "", "65M"));
    BOOST_TEST(!approve(MountType::tmpfs, "", "1,mode=0777"));
    BOOST_TEST(approve(MountType::tmpfs, "")->size == "64M");
    BOOST_TEST(!approve(MountType::overlay, "readonly", "2M"));
    BOOST_TEST(approve(MountType::overlay, "readonly", "1M").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
