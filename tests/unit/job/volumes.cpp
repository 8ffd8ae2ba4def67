// SPDX-License-Identifier: Apache-2.0
#include "job/check.hpp"
#include "job/plan.hpp"
#include "samples.hpp"
#include "tests/unit/make_mount.hpp"
#include "tests/unit/printing.hpp"

using namespace batchai::job;

namespace {

std::string job_with(const std::string& mounts) {
    return R"({"properties": {"nodeCount": 1, "customToolkitSettings": {"commandLine": "true"},
               "stdOutErrPathPrefix": "/out", "mountVolumes": {)" +
           mounts + "}}}";
}

const char* const kAll = R"(
    "azureFileShares": [{"azureFileUrl": "https://acct.file.core.windows.net/s/sub",
        "credentials": {"accountKey": "hush"}, "fileMode": "0640", "directoryMode": "0750",
        "relativeMountPath": "share"}],
    "azureBlobFileSystems": [{"accountName": "acct", "containerName": "c",
        "credentials": {"accountKeySecretReference": {"sourceVault": {"id": "x"}, "secretUrl": "y"}},
        "mountOptions": "--use-https=true -o big_writes", "relativeMountPath": "blob"}],
    "fileServers": [{"fileServer": {"id": "/subscriptions/s/workspaces/w/fileservers/nfs1"},
        "sourceDirectory": "/a/b/", "mountOptions": "ro,rsize=4096,sync", "relativeMountPath": "nfs"}],
    "unmanagedFileSystems": [{"mountCommand": "mount -t glusterfs 10.0.0.4:/gv0",
        "relativeMountPath": "gluster"}])";

const char* const kVolumePolicy = R"(
[[share]]
share = "s"
type = "cifs"
source = "//smb/s"
credentials = "job"
file_mode = "0700"
[[blob_container]]
container = "c"
source = "/blob/c"
[[file_server]]
name = "nfs1"
type = "nfs"
source = "nfs:/export"
user_options = ["rsize"]
[[unmanaged]]
command = "mount -t glusterfs *:/gv0"
source = "/gluster"
read_only = true
)";

SitePolicy policy() {
    const auto parsed = parse_policy(kVolumePolicy, "p.toml");
    for (const auto& finding : parsed.findings) BOOST_ERROR(finding.text());
    return parsed.policy.value();
}

std::string errors(const std::string& mounts) {
    std::string all;
    for (const Finding& finding : parse_job(job_with(mounts), "j").findings)
        if (finding.severity == Finding::Severity::error) all += finding.text() + "\n";
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(volumes_of_all_kinds_are_read) {
    const JobSpec spec = parse_job(job_with(kAll), "j").spec.value();
    BOOST_REQUIRE(spec.volumes.size() == 4u);
    BOOST_TEST(spec.volumes[0].directory == "sub");
    BOOST_TEST(spec.volumes[0].account_key == "hush");
    BOOST_TEST(spec.volumes[0].file_mode.value() == 0640u);
    BOOST_TEST(spec.volumes[0].directory_mode.value() == 0750u);
    BOOST_TEST(describe(spec.volumes[0]) == "share 's' of account 'acct'");
    BOOST_TEST(describe(spec.volumes[1]) == "blob container 'c' of account 'acct'");
    BOOST_TEST(describe(spec.volumes[2]) == "file server 'nfs1'");
    BOOST_TEST(spec.volumes[2].directory == "a/b");
    BOOST_TEST(spec.volumes[3].name == "mount -t glusterfs 10.0.0.4:/gv0");
    BOOST_TEST(spec.volumes[3].key == "properties.mountVolumes.unmanagedFileSystems[0]");
}

BOOST_AUTO_TEST_CASE(volumes_become_mounts_by_the_policy) {
    const SitePolicy site = policy();
    const auto mounts = plan_mounts(parse_job(job_with(kAll), "j").spec.value(), site);
    BOOST_REQUIRE(mounts.has_value());
    const auto entry = [&site](int i) { return entry_name(site.volumes[i]); };
    std::vector<Mount> expected = {{MountType::cifs, "//smb/s/sub", "share", false, false, "",
                                    entry(0), "sub", "", "acct", "hush", 0600, 0750},
                                   make_mount(MountType::bind, "/blob/c", "blob"),
                                   {MountType::nfs, "nfs:/export/a/b", "nfs", true, false, "",
                                    entry(2), "a/b", "rsize=4096", "", ""},
                                   make_mount(MountType::bind, "/gluster", "gluster")};
    expected[3].read_only = true;
    BOOST_TEST(*mounts == expected);
}

BOOST_AUTO_TEST_CASE(a_check_tells_what_a_job_cannot_set) {
    std::string said;
    const auto checked = check_job(job_with(kAll), "j", policy(), {});
    for (const Finding& finding : checked.findings)
        said += finding.path + ": " + finding.message + "\n";
    BOOST_TEST(checked.spec.has_value(), said);
    const std::string of = "properties.mountVolumes.";
    const std::string ignored = " is ignored: the site policy does not let jobs set it\n";
    BOOST_TEST(
        said ==
        of +
            "azureBlobFileSystems[0].credentials.accountKeySecretReference: ignored: this site "
            "mounts the volume without the account's key\n" +
            of + "azureBlobFileSystems[0].mountOptions: '--use-https=true'" + ignored + of +
            "azureBlobFileSystems[0].mountOptions: 'big_writes'" + ignored + of +
            "fileServers[0].mountOptions: 'sync'" + ignored);
}

BOOST_AUTO_TEST_CASE(a_check_misses_the_key_that_a_mount_needs) {
    const auto checked =
        check_job(job_with(R"("azureFileShares": [{"azureFileUrl": "https://acct.x/s",
                               "relativeMountPath": "share", "fileMode": "0600"}])"),
                  "j", policy(), {});
    BOOST_TEST(!checked.spec);
    BOOST_TEST(checked.findings.at(0).path ==
               "properties.mountVolumes.azureFileShares[0].azureFileUrl");
    BOOST_TEST(checked.findings.at(0).message ==
               "share 's' of account 'acct' needs the key of its account here: accountName and "
               "credentials.accountKey or accountKeySecretReference");
}

BOOST_AUTO_TEST_CASE(modes_are_ignored_where_files_have_their_own) {
    SitePolicy site = policy();
    site.volumes[0].file_system.type = MountType::bind;
    site.volumes[0].file_system.credentials = {};
    const auto checked =
        check_job(job_with(R"("azureFileShares": [{"azureFileUrl": "https://acct.x/s",
                               "relativeMountPath": "share", "fileMode": "0600"}])"),
                  "j", site, {});
    BOOST_REQUIRE(checked.spec);
    BOOST_TEST(checked.findings.at(0).text().find(
                   "fileMode: ignored: the files keep their modes, as it is a bind mount here") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(volumes_that_cannot_be_are_refused) {
    const auto refused = [](const std::string& mounts, const std::string& why) {
        const std::string said = errors(mounts);
        BOOST_TEST(said.find(why) != std::string::npos, said);
    };
    const std::string at = R"(, "relativeMountPath": "m"}])";
    refused(R"("fileServers": [{"fileServer": {"id": "/x/.."})" + at, "does not end in the name");
    refused(R"("fileServers": [{"fileServer": {"id": "a"}, "sourceDirectory": "../b")" + at,
            "is not a directory of the server");
    refused(R"("fileServers": [{"sourceDirectory": "b")" + at, "fileServer");
    refused(R"("azureBlobFileSystems": [{"accountName": "a", "containerName": "a/b")" + at,
            "is not a name");
    refused(R"("unmanagedFileSystems": [{"mountCommand": "a\nb")" + at, "control character");
    refused(R"("unmanagedFileSystems": [{)" + at.substr(2), "mountCommand");
    refused(R"("azureFileShares": [{"azureFileUrl": "https://a.b/s", "fileMode": "rw")" + at,
            "is not a mode");
    refused(R"("unmanagedFileSystems": [{"mountCommand": "x", "relativeMountPath": "a"},
                                        {"mountCommand": "y", "relativeMountPath": "a/b"}])",
            "another volume of this job is mounted at 'a'");
}
