// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/kernel_mount.hpp"

#include <boost/test/unit_test.hpp>

#include "spank/helper/root/mount.hpp"
#include "spank/helper/root/trusted_policy.hpp"
#include "tests/unit/make_mount.hpp"
#include "tests/unit/temporary_directory.hpp"

using namespace batchai;
using job::MountType;

namespace {

std::string text_of(const sys::Result<std::vector<spank::Parameter>>& parameters) {
    if (!parameters) return parameters.error().message;
    std::string text;
    for (const auto& [key, value, is_flag] : *parameters)
        text += (text.empty() ? "" : ",") + key + (is_flag ? "" : "=" + value);
    return text;
}

const spank::Credentials kUser{1001, 1002, {}};

}  // namespace

BOOST_AUTO_TEST_SUITE(network)

BOOST_AUTO_TEST_CASE(nfs_is_told_what_mount_nfs_would_tell_it) {
    job::FileSystem entry;
    entry.source = "127.0.0.1:/export/a b";
    job::Mount mount =
        make_mount(MountType::nfs, "127.0.0.1:/export/a b/below");  // reached from the source
    BOOST_TEST(text_of(spank::nfs_parameters(mount, entry)) ==
               "source=127.0.0.1:/export/a b,addr=127.0.0.1,vers=4.2,clientaddr=127.0.0.1");
    entry.options = {"vers=3", "soft", "port=12049"};
    mount.options = "rsize=4096";
    BOOST_TEST(text_of(spank::nfs_parameters(mount, entry)) ==
               "source=127.0.0.1:/export/a b,addr=127.0.0.1,clientaddr=127.0.0.1,vers=3,soft,"
               "port=12049,rsize=4096");
    entry.source = "no.such.host.invalid:/x";
    BOOST_TEST(text_of(spank::nfs_parameters(mount, entry)).starts_with("no.such.host.invalid: "));
}

BOOST_AUTO_TEST_CASE(cifs_belongs_to_the_jobs_user) {
    job::FileSystem entry;
    entry.options = {"vers=3.1.1"};
    job::Mount mount = make_mount(MountType::cifs, "//127.0.0.1/share/sub");
    mount.file_mode = 0640;
    const std::string common =
        "source=//127.0.0.1/share/sub,ip=127.0.0.1,vers=3.1.1,uid=1001,gid=1002,forceuid,forcegid,"
        "file_mode=0640,dir_mode=0777";
    BOOST_TEST(text_of(spank::cifs_parameters(mount, entry, kUser, nullptr)) ==
               common + ",sec=none");
    const spank::Login login{"me", "a,b=c\"d", "D"};
    BOOST_TEST(text_of(spank::cifs_parameters(mount, entry, kUser, &login)) ==
               common + ",username=me,password=a,b=c\"d,domain=D");
}

BOOST_AUTO_TEST_CASE(a_login_is_read_as_mount_cifs_reads_it) {
    const auto login = spank::parse_login("# site\nusername=me\r\npassword=a=b c\ndomain=D\n");
    BOOST_REQUIRE(login);
    BOOST_TEST(login->user == "me");
    BOOST_TEST(login->password == "a=b c");
    BOOST_TEST(login->domain == "D");
    // What is not understood may be the secret itself.
    const auto refused = spank::parse_login("hush\n");
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.error().message.find("hush") == std::string::npos);
    BOOST_TEST(!spank::parse_login("password=x\n"));
}

BOOST_AUTO_TEST_CASE(a_credentials_file_is_its_owners_alone) {
    const bool root = geteuid() == 0;
    const test::TemporaryDirectory directory(root ? "/run" : "/tmp");
    job::SitePolicy policy;
    policy.credentials = directory.path();
    job::FileSystem entry;
    entry.credentials = {job::CredentialsSource::Kind::store, "site"};
    const auto read = [&] { return spank::read_credentials(job::Mount(), entry, policy, ""); };
    BOOST_TEST(!read());
    directory.write("site", "username=me\n", 0600);
    BOOST_TEST(*read() == "username=me\n");
    for (const mode_t mode : {0644U, 0640U, 0604U}) {
        chmod((directory / "site").c_str(), mode);
        BOOST_REQUIRE(!read());
        BOOST_TEST(read().error().message.find("only this user can read") != std::string::npos);
    }
    std::filesystem::rename(directory / "site", directory / "other");
    chmod((directory / "other").c_str(), 0600);
    std::filesystem::create_symlink("other", directory / "site");
    BOOST_TEST(*read() == "username=me\n");
    chmod(directory.path().c_str(), 01777);
    BOOST_TEST(read().has_value() == !root);
    chmod(directory.path().c_str(), 0700);
    // A program is told no secret that a user could have put in its place.
    entry.program = "server";
    policy.programs["server"].command = {directory.write("server", "", 0755)};
    BOOST_TEST(read().has_value());
    chmod((directory / "server").c_str(), 0757);
    BOOST_TEST(read().has_value() == !root);
    entry.credentials.kind = job::CredentialsSource::Kind::job;
    job::Mount mount;
    mount.account = "acct";
    mount.key = "k";
    BOOST_TEST(*spank::read_credentials(mount, entry, policy, "") == "username=acct\npassword=k\n");
    entry.credentials.kind = job::CredentialsSource::Kind::user;
    BOOST_TEST(*spank::read_credentials(mount, entry, policy, "own") == "own");
}

BOOST_AUTO_TEST_CASE(a_remote_mount_is_what_its_entry_says) {
    job::SitePolicy policy;
    policy.volumes.push_back({});
    auto& entry = policy.volumes[0].file_system;
    entry.type = MountType::cifs;
    entry.source = "//h/s";
    entry.user_options = {"vers"};
    entry.file_mode = 0600;
    const auto name = job::entry_name(policy.volumes[0]);
    job::Mount cifs = make_mount(MountType::cifs, "//evil/s", "t", name, "a/b");
    cifs.options = "vers=2.1";
    const auto approved = spank::approve(cifs, "", policy);
    BOOST_REQUIRE(approved);
    job::Mount expected = cifs;
    expected.source = "//h/s/a/b";
    expected.file_mode = 0600;
    BOOST_TEST((*approved == expected));
    const auto refused = [&](auto change) {
        job::Mount other = cifs;
        change(other);
        return !spank::approve(other, "", policy);
    };
    BOOST_TEST(refused([](auto& other) { other.entry = {}; }));
    BOOST_TEST(refused([](auto& other) { other.entry.name = "other"; }));
    BOOST_TEST(refused([](auto& other) { other.entry.source = "//evil/s"; }));
    BOOST_TEST(refused([](auto& other) { other.directory = "../x"; }));
    BOOST_TEST(refused([](auto& other) { other.directory = "a\\..\\x"; }));  // cifs takes it as '/'
    BOOST_TEST(refused([](auto& other) { other.options = "vers=3,uid=0"; }));
    BOOST_TEST(refused([](auto& other) { other.type = MountType::nfs; }));
}

BOOST_AUTO_TEST_CASE(the_kernel_gets_the_options_that_were_checked) {
    job::SitePolicy policy;
    policy.volumes.push_back({});
    auto& entry = policy.volumes[0].file_system;
    entry.type = MountType::nfs;
    entry.source = "h:/s";
    entry.user_options = {"rsize"};
    const auto name = job::entry_name(policy.volumes[0]);
    job::Mount nfs = make_mount(MountType::nfs, "", "t", name);
    nfs.options = "rsize=1 rsize=2\nro,rw";
    const auto approved = spank::approve(nfs, "", policy);
    BOOST_REQUIRE(approved);
    BOOST_TEST(approved->options == "rsize=1,rsize=2");
    BOOST_TEST(approved->read_only);
}

BOOST_AUTO_TEST_SUITE_END()
