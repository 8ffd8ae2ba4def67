// SPDX-License-Identifier: Apache-2.0
#include "job/policy.hpp"

#include "samples.hpp"
#include "tests/unit/printing.hpp"

using namespace batchai::job;

namespace {
std::string first_finding(const std::string& text) {
    const auto parsed = parse_policy(text, "p.toml");
    return parsed.findings.empty() ? "" : parsed.findings[0].text();
}

std::string findings(const std::string& text) {
    std::string all;
    for (const Finding& finding : parse_policy(text, "p.toml").findings)
        all += finding.text() + "\n";
    return all;
}
}  // namespace

// The original's commented examples, uncommented: they have to be right, and to name every key.
BOOST_AUTO_TEST_CASE(the_examples_of_the_commented_original_are_a_policy) {
    std::istringstream original(samples::file("etc/batchai.toml"));
    std::string text;
    bool example = false;
    for (std::string line; std::getline(original, line);) {
        if (line.rfind("# [", 0) == 0) example = true;
        if (line.empty()) example = false;
        text += (example ? line.substr(2) : line) + "\n";
    }
    BOOST_TEST(findings(text) == "");
    const SitePolicy policy = parse_policy(text, "p.toml").policy.value();
    BOOST_TEST(policy.volumes.size() == 5u);
    BOOST_TEST(policy.images.size() == 2u);
    BOOST_TEST(policy.containers.size() == 2u);
    BOOST_TEST(policy.preparations.size() == 1u);
    BOOST_TEST(policy.allowed.size() == 2u);
    BOOST_TEST(policy.clusters.at("nc6cluster").gres == "gpu:1");
    BOOST_TEST(policy.secrets.size() == 1u);
    BOOST_TEST(policy.priorities.size() == 2u);
    BOOST_TEST(policy.launch.size() == 5u);
    std::istringstream keys(
        "mount_root job_temp credentials python rank_per_gpu prepare preparation_timeout "
        "preparation_cache "
        "mount_timeout exclusive account share container name command type source login_path "
        "read_only "
        "options "
        "user_options file_mode directory_mode max_size run_on image horovod compat say replace "
        "partition "
        "vm_size gres shm_size vault url file users qos nice restarts requeue_on max_requeues "
        "hang_report grace");
    for (std::string key; keys >> key;) BOOST_TEST_CONTEXT(key)
    BOOST_TEST(text.find("\n" + key + " = ") != text.npos);
}

BOOST_AUTO_TEST_CASE(values_of_launch_options_are_checked_as_on_a_command_line) {
    const auto policy = parse_policy("[launch]\ngrace = 0.5\nrestarts = 2\n", "p.toml").policy;
    BOOST_TEST(policy.value().launch.at("grace") == "0.5");
    BOOST_TEST(policy.value().launch.at("restarts") == "2");
    for (const auto& [line, why] :
         {std::pair{"restarts = 1.5", "restarts: must be an integer from 0 to 1000000"},
          {"grace = -1", "grace: must be from 0 to 1000000 seconds"},
          {"hang_report = 0.01", "hang_report: must be 0 or from 0.1 to 1000000 seconds"},
          {"requeue_on = \"signal,\"",
           "requeue_on: '' is not one of signal, node-fail and failure"},
          {"grace = true", "grace: expected a number or a string"},
          {"label = true", "label: unknown key"}})
        BOOST_TEST(findings("[launch]\n" + std::string(line) + "\n").find(why) != std::string::npos,
                   line);
}

BOOST_AUTO_TEST_CASE(the_commented_original_is_a_policy_that_allows_nothing) {
    const auto parsed = parse_policy(samples::file("etc/batchai.toml"), "etc/batchai.toml");
    const SitePolicy& policy = parsed.policy.value();
    BOOST_TEST(policy.volumes.empty());
    BOOST_TEST(policy.allowed.empty());
    BOOST_TEST(policy.preparation_timeout == 600);
    BOOST_TEST(policy.prepare_all_nodes);
    BOOST_TEST(policy.exclusive);
}

BOOST_AUTO_TEST_CASE(nodes_are_prepared_all_at_once_or_each_at_its_first_step) {
    const auto all_nodes = [](const std::string& text) {
        return parse_policy(text, "p.toml").policy.value().prepare_all_nodes;
    };
    BOOST_TEST(all_nodes("[job]\nprepare = \"all-nodes\"\n"));
    BOOST_TEST(!all_nodes("[job]\nprepare = \"first-step\"\n"));
    BOOST_TEST(findings("[job]\nprepare = \"lazily\"\n") ==
               "p.toml:2:11: job.prepare: 'lazily' is not one of all-nodes and first-step\n");
}

BOOST_AUTO_TEST_CASE(an_admins_typo_is_an_error_with_its_place) {
    BOOST_TEST(first_finding("[paths]\nmount_rot = \"/x\"\n") ==
               "p.toml:2:13: paths.mount_rot: unknown key; did you mean 'mount_root'?");
    BOOST_TEST(first_finding("[job]\npreparation_timeout = 0\n") ==
               "p.toml:2:23: job.preparation_timeout: must be from 1 to 86400");
    BOOST_TEST(first_finding("[[share]]\nshare = \"a\"\nsource = \"/data/../etc\"\n")
                   .find("share[0].source: '/data/../etc' is not an absolute path") !=
               std::string::npos);
    BOOST_TEST(findings("[[share]]\nsource = 3\n") ==
               "p.toml:1:1: share[0].share: required, but missing\n"
               "p.toml:2:10: share[0].source: expected a string\n");
    BOOST_TEST(findings("[cluster.a]\npartitoin = \"x\"\n") ==
               "p.toml:2:13: cluster.a.partitoin: unknown key; did you mean 'partition'?\n");
    BOOST_TEST(findings("[cluster]\na = 1\n") ==
               "p.toml:2:5: cluster.a: expected a table: [cluster.a]\n");
    BOOST_TEST(findings("[[allow]]\n") == "p.toml:1:1: allow[0].source: required, but missing\n");
    BOOST_TEST(findings("[[allow]]\ntype = \"tmpfs\"\nsource = \"/x\"\n") ==
               "p.toml:3:10: allow[0].source: a tmpfs has no source: remove this key\n");
    BOOST_TEST(findings("[[allow]]\ntype = \"tmpfs\"\nmax_size = \"lots\"\n") ==
               "p.toml:3:12: allow[0].max_size: 'lots' is not a size such as 512M or 4G\n");
    BOOST_TEST(findings("[[image]]\nname = \"x\"\nrun_on = \"moon\"\n") ==
               "p.toml:3:10: image[0].run_on: is not \"host\" or the name of a container: there is "
               "no [container.moon]\n"
               "p.toml:1:1: image[0].image: required, but missing\n");
    BOOST_TEST(findings("share = 1\n") ==
               "p.toml:1:9: share: expected an array of tables: [[share]]\n");
    BOOST_TEST(findings("[paths]\nmount_root = \"here\"\n") ==
               "p.toml:2:14: paths.mount_root: 'here' is not an absolute path without '..'\n");
    BOOST_TEST(findings("[[allow]]\ntype = \"ntfs\"\nsource = \"/x\"\n") ==
               "p.toml:2:8: allow[0].type: 'ntfs' is not one of " + mount_type_names() + "\n");
    BOOST_TEST(first_finding("x = [1,\n").find("p.toml:") == 0u);
}

BOOST_AUTO_TEST_CASE(an_empty_text_is_no_path_and_no_name) {
    for (const char* text :
         {"[paths]\nmount_root = \"\"", "[paths]\njob_temp = \"\"", "[job]\npython = \"\"",
          "[[share]]\naccount = \"\"\nshare = \"a\"\nsource = \"/a\"",
          "[[share]]\nsource = \"\"\nshare = \"a\"", "[[image]]\nname = \"\"",
          "[[share]]\nshare = \"\"\nsource = \"/a\"", "[[preparation]]\ncommand = \"\"",
          "[[share]]\nlogin_path = \"\"\nshare = \"a\"\nsource = \"/a\"",
          "[[allow]]\nsource = \"\""})
        BOOST_TEST(findings(text).find(": is empty\n") != std::string::npos, text);
    BOOST_TEST(findings("[cluster.\"\"]\n").find("is not a name") != std::string::npos);
    BOOST_TEST(findings("[[preparation]]\ncommand = \"x\"\nreplace = \"\"\n") == "");
}

BOOST_AUTO_TEST_CASE(a_remote_file_system_is_the_admins_to_the_last_option) {
    const auto share = [](const std::string& lines) {
        return findings("[[share]]\nshare = \"s\"\n" + lines);
    };
    const std::string nfs = "type = \"nfs\"\nsource = \"h:/e\"\n";
    const std::string cifs = "type = \"cifs\"\nsource = \"//h/s\"\n";
    BOOST_TEST(share(nfs + "options = \"vers=4.1,soft\"\nuser_options = [\"rsize\"]\n") == "");
    BOOST_TEST(share(cifs + "credentials = \"store:site\"\nfile_mode = \"0640\"\n") == "");
    BOOST_TEST(share("type = \"nfs\"\nsource = \"/e\"\n") ==
               "p.toml:4:10: share[0].source: '/e' is not HOST:/EXPORT\n");
    BOOST_TEST(share("type = \"cifs\"\nsource = \"//h\"\n") ==
               "p.toml:4:10: share[0].source: '//h' is not //HOST/SHARE\n");
    for (const char* option : {"username=me", "password=x", "uid=0", "suid", "rw"})
        BOOST_TEST(
            share(cifs + "options = \"vers=3.1.1," + option + "\"\n").find("is not an option") !=
                std::string::npos,
            option);
    BOOST_TEST(share(cifs + "user_options = [\"uid\"]\n").find("'uid' is not an option") !=
               std::string::npos);
    BOOST_TEST(share("source = \"/x\"\noptions = \"a\"\n").find("only nfs and cifs") !=
               std::string::npos);
    for (const char* credentials : {"x", "store:", "user:../x", "store:a/b", "job:x"})
        BOOST_TEST(share(cifs + "credentials = \"" + credentials + "\"\n")
                           .find("is not store:NAME, user:NAME or job") != std::string::npos,
                   credentials);
    BOOST_TEST(share(nfs + "credentials = \"job\"\n").find("only cifs and fuse") !=
               std::string::npos);
    BOOST_TEST(share("source = \"/x\"\nfile_mode = \"0700\"\n") ==
               "p.toml:4:13: share[0].file_mode: only cifs has modes for all of its files\n");
    BOOST_TEST(share(cifs + "credentials = \"job\"\n") == "");
    for (const std::string table : {"[[allow]]\nname = \"x\"\n", "[[file_server]]\nname = \"x\"\n",
                                    "[[unmanaged]]\ncommand = \"x\"\n"})
        BOOST_TEST(findings(table + cifs + "credentials = \"job\"\n")
                           .find("only they have an account's key") != std::string::npos,
                   table);
    BOOST_TEST(share(cifs + "file_mode = \"0888\"\n").find("is not a mode") != std::string::npos);
    BOOST_TEST(share("type = \"fuse\"\nsource = \"x\"\nprogram = \"y\"\n") ==
               "p.toml:5:11: share[0].program: there is no [program.y]\n");
    BOOST_TEST(findings("[program.y]\ncommand = [\"y\"]\n") != "");  // not by PATH
    BOOST_TEST(findings("[program.y]\ncommand = [\"/y\", \"{source}:{}{ {a b} {uid}{targe}\"]\n") ==
               "p.toml:2:11: program.y.command: {targe} is not a placeholder here: use {source}, "
               "{target}, {credentials}, {cache}, {uid} and {gid}\n");
    BOOST_TEST(findings("[program.y]\ncommand = \"/y\"\n").find("expected an array") !=
               std::string::npos);
    BOOST_TEST(findings("[[allow]]\n" + nfs) ==
               "p.toml:1:1: allow[0].name: required, but missing\n");
}

BOOST_AUTO_TEST_CASE(every_kind_of_volume_is_looked_up_by_its_own_name) {
    const SitePolicy policy =
        parse_policy(
            "[[share]]\nshare = \"x\"\nsource = \"/share\"\n"
            "[[blob_container]]\naccount = \"a*\"\ncontainer = \"x\"\nsource = \"/blob\"\n"
            "[[file_server]]\nname = \"x\"\nsource = \"/server\"\n"
            "[[unmanaged]]\ncommand = \"mount -t glusterfs *:/gv0\"\nsource = \"/gluster\"\n",
            "p.toml")
            .policy.value();
    Volume volume;
    volume.name = "x";
    volume.account = "acct";
    const auto source = [&](Volume::Kind kind) {
        volume.kind = kind;
        const auto found = resolve_volume(policy, volume);
        return found ? (*found)->file_system.source : found.error().message;
    };
    BOOST_TEST(source(Volume::Kind::share) == "/share");
    BOOST_TEST(source(Volume::Kind::blob_container) == "/blob");
    BOOST_TEST(source(Volume::Kind::file_server) == "/server");
    BOOST_TEST(source(Volume::Kind::unmanaged) ==
               "mount command 'x' of account 'acct' is unknown here: no [[unmanaged]] of p.toml "
               "names it");
    volume.account = "";
    volume.name = "mount -t glusterfs 10.0.0.4:/gv0";
    BOOST_TEST(source(Volume::Kind::unmanaged) == "/gluster");
    volume.name = "mount -t glusterfs 10.0.0.4:/gv0; id";
    BOOST_TEST(source(Volume::Kind::unmanaged).find("unknown here") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(maps_the_walk_throughs_names) {
    const SitePolicy policy = samples::policy();
    const JobSpec spec = parse_job(samples::tutorial(), "job.json").spec.value();
    BOOST_TEST((*resolve_volume(policy, spec.volumes[0]))->file_system.source == "/srv/myshare");
    BOOST_TEST(resolve_image(policy, *spec.image)->run_on == "host");
    const Preparation preparation = resolve_preparation(policy, spec);
    BOOST_TEST(preparation.command.find("import @MODULE@") != std::string::npos);
    BOOST_TEST(!preparation.note.empty());
    BOOST_TEST(!resolve_image(policy, "ubuntu").has_value());
    SitePolicy by_account = policy;
    by_account.volumes[0].account = "my*";
    Volume share = spec.volumes[0];
    BOOST_TEST(resolve_volume(by_account, share).error().message.find("--storage-account-name") !=
               std::string::npos);
    share.account = "myaccount";
    BOOST_TEST((*resolve_volume(by_account, share))->file_system.source == "/srv/myshare");
    share.account = "yours";
    BOOST_TEST(!resolve_volume(by_account, share).has_value());
    Volume other;
    other.name = "other";
    BOOST_TEST(resolve_volume(policy, other).error().message.find("[[share]]") !=
               std::string::npos);
}
BOOST_AUTO_TEST_CASE(cluster_volumes_do_not_lie_inside_one_another) {
    const auto two = [](const std::string& one, const std::string& other) {
        const auto entry = [](const std::string& path) {
            return "[[cluster_volume]]\npath = \"" + path + "\"\nsource = \"/x\"\n";
        };
        return findings(entry(one) + entry(other));
    };
    BOOST_TEST(two("a", "ab") == "");
    BOOST_TEST(two("a/b", "a/c") == "");
    for (const char* other : {"a", "a/b"})
        BOOST_TEST(two("a", other).find("overlaps the [[cluster_volume]] 'a'") !=
                   std::string::npos);
    BOOST_TEST(two("a/b", "a").find("overlaps the [[cluster_volume]] 'a/b'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_image_says_which_horovod_and_which_names_its_scripts_get) {
    const auto parsed = parse_policy(
        "[[image]]\nname = \"tensorflow/tensorflow:1.*\"\nhorovod = \"batchai\"\ncompat = \"tf1\"\n"
        "[[image]]\nname = \"*\"\n",
        "p.toml");
    const SitePolicy& policy = parsed.policy.value();
    const auto old = resolve_image(policy, "tensorflow/tensorflow:1.8.0-gpu");
    BOOST_TEST((*old).horovod == "batchai");
    BOOST_TEST((*old).compat == "tf1");
    const auto other = resolve_image(policy, "tensorflow/tensorflow:2.15.0");
    BOOST_TEST((*other).horovod == "");
    BOOST_TEST((*other).compat == "");
    BOOST_TEST(findings("[[image]]\nname = \"x\"\nhorovod = \"mine\"\ncompat = \"tf2\"\n") ==
               "p.toml:3:11: image[0].horovod: 'mine' is not one of auto, batchai and system\n"
               "p.toml:4:10: image[0].compat: 'tf2' is not tf1\n");
}
