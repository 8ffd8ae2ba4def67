// SPDX-License-Identifier: Apache-2.0
#include "job/container.hpp"

#include <unistd.h>

#include <cstdio>
#include <memory>

#include "samples.hpp"
#include "sys/shell.hpp"

using namespace batchai::job;
using Strings = std::vector<std::string>;

namespace {

constexpr char kContainers[] = R"(
[container.box]
command = ["/bin/sh", "--cd={directory}", "{mount_root}:{mount_root}", "{job_temp}", "{uid}:{gid}", "{image}", "--"]
[[image]]
name = "tensorflow/*"
run_on = "box"
image = "/images/tf {uid}"
[[image]]
name = "quay.io/*"
run_on = "box"
image = "docker://quay"
say = "from our registry"
[[image]]
name = "*"
)";

SitePolicy site_with_containers() {
    const auto parsed = parse_policy(kContainers, "p.toml");
    for (const Finding& finding : parsed.findings) BOOST_ERROR(finding.text());
    return parsed.policy.value();
}

const ContainerPlaces kPlaces{"/run/batchai/mnt", "/tmp", "/home/alice/my work", 7, 8};

}  // namespace

BOOST_AUTO_TEST_CASE(an_image_in_a_container_is_words_before_the_command) {
    const SitePolicy site = site_with_containers();
    const ImagePolicy image = resolve_image(site, "tensorflow/tensorflow:1.8.0").value();
    BOOST_TEST(image.say == "image tensorflow/tensorflow:1.8.0: runs in box from /images/tf {uid}");
    const auto prefix = container_prefix(site, image, kPlaces);
    BOOST_REQUIRE(prefix);
    BOOST_TEST(*prefix == (Strings{"/bin/sh", "--cd=/home/alice/my work",
                                   "/run/batchai/mnt:/run/batchai/mnt", "/tmp", "7:8",
                                   "/images/tf {uid}", "--"}),
               boost::test_tools::per_element());
    BOOST_TEST(
        in_container({"/bin/sh", "a b", "--"}, "echo 'x'; $Y") ==
        "export BATCHAI_PREPARATION='echo '\\''x'\\''; $Y'; exec /bin/sh 'a b' -- /bin/bash -c "
        "'eval \"unset BATCHAI_PREPARATION; "
        "${BATCHAI_PREPARATION:?not passed on by the container runtime}\"'");
    BOOST_TEST(in_container(*prefix, "").empty());
    BOOST_TEST(resolve_image(site, "quay.io/tf")->say == "from our registry");
}

BOOST_AUTO_TEST_CASE(an_image_on_the_host_and_no_image_are_no_words) {
    const SitePolicy site = site_with_containers();
    JobSpec spec;
    const ImagePolicy none = resolve_image(site, spec).value();
    BOOST_TEST(none.say.empty());
    spec.image = "ubuntu";
    const ImagePolicy host = resolve_image(site, spec).value();
    BOOST_TEST(host.say == "image ubuntu: this site runs it on the host, not in a container");
    for (const ImagePolicy& image : {none, host}) {
        BOOST_TEST(container_prefix(site, image, kPlaces).value().empty());
        BOOST_TEST(check_container(site, image).has_value());
    }
    BOOST_TEST(in_container({}, "echo 'x'") == "echo 'x'");
}

// What a shell with such variables makes of the words before a command.
std::string words_of(const SitePolicy& site, const ImagePolicy& image) {
    std::string line = "cd / && env -i A=1 B_='x y' 'C=$(D)' sh -c ";
    std::string command;
    const auto prefix = container_prefix(site, image, kPlaces).value();
    for (const std::string& word : prefix) command += batchai::sys::shell_quoted(word) + " ";
    line += batchai::sys::shell_quoted(command + "/bin/bash -c 'a  b'");
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(line.c_str(), "r"), pclose);
    std::string text;
    for (int byte = 0; (byte = std::fgetc(pipe.get())) != EOF;) text += static_cast<char>(byte);
    return text;
}

BOOST_AUTO_TEST_CASE(a_runtime_that_passes_no_environment_is_told_each_variable_by_its_name) {
    const auto parsed = parse_policy(R"(
[container.enroot]
command = ["/usr/bin/printf", "[%s]", "start", "--env={env}", "{image}", "<{env}={uid}={env}>"]
[[image]]
name = "a"
run_on = "enroot"
image = "it's {env} $A `B` {uid}"
)",
                                     "p.toml");
    BOOST_REQUIRE(parsed.policy);
    const SitePolicy& site = *parsed.policy;
    const std::string text = words_of(site, site.images[0]);
    // The shells have added their own: PWD, SHLVL, OLDPWD.
    BOOST_TEST(text.starts_with("[start][--env=A][--env=B_][--env=C]"), text);
    BOOST_TEST(samples::contains(text, "][it's {env} $A `B` {uid}][<A=7=A>][<B_=7=B_>][<C=7=C>]"),
               text);
    BOOST_TEST(text.ends_with("][/bin/bash][-c][a  b]"), text);
    BOOST_TEST(!samples::contains(text, "batchai_"), text);
    BOOST_TEST(samples::complaints("[container.a]\ncommand = [\"/r{env}\"]\n") ==
               "p.toml:2:11: container.a.command: {env} cannot be in the program's path\n");
    BOOST_TEST(
        samples::contains(samples::complaints("[program.a]\ncommand = [\"/r\", \"{env}\"]\n"),
                          "{env} is not a placeholder here"));
}

BOOST_AUTO_TEST_CASE(a_runtime_or_an_image_that_is_not_there_is_named) {
    SitePolicy site = site_with_containers();
    ImagePolicy image = site.images[0];
    BOOST_TEST(check_container(site, image).error().message ==
               "image tensorflow/*: /images/tf {uid}: No such file or directory");
    BOOST_TEST(check_container(site, site.images[1]).has_value());  // no path
    site.containers["box"].command[0] = "/no/runtime";
    BOOST_TEST(check_container(site, image).error().message ==
               "container box: /no/runtime: No such file or directory");
    image.run_on = "other";
    BOOST_TEST(check_container(site, image).error().message ==
               "site policy: there is no [container.other]");
    BOOST_TEST(!container_prefix(site, image, kPlaces).has_value());
}

BOOST_AUTO_TEST_CASE(a_wrong_container_is_an_error_of_the_policy_where_it_stands) {
    BOOST_TEST(
        samples::complaints("[container.a]\ncommand = [\"/r\", \"--bind={mount_rot}\"]\n") ==
        "p.toml:2:11: container.a.command: {mount_rot} is not a placeholder here: use {image}, "
        "{mount_root}, {job_temp}, {directory}, {shm_size}, {env}, {uid} and {gid}\n");
    BOOST_TEST(samples::complaints("[program.a]\ncommand = [\"/r\", \"{image}\"]\n") ==
               "p.toml:2:11: program.a.command: {image} is not a placeholder here: use {source}, "
               "{target}, {credentials}, {cache}, {uid} and {gid}\n");
    BOOST_TEST(samples::complaints("[container.a]\ncommand = [\"ch-run\"]\n") ==
               "p.toml:2:11: container.a.command: expected an array: a program's absolute path and "
               "its arguments\n");
    BOOST_TEST(samples::complaints("[container.a]\nimage = \"x\"\ncommand = [\"/r\"]\n") ==
               "p.toml:2:9: container.a.image: unknown key\n");
    BOOST_TEST(samples::complaints("[container.host]\ncommand = [\"/r\"]\n") ==
               "p.toml:1:1: container: a container cannot have the name 'host': it stands for no "
               "container\n");
    BOOST_TEST(samples::complaints("[[image]]\nname = \"x\"\nimage = \"/x\"\n") ==
               "p.toml:3:9: image[0].image: only an entry that runs in a container has an image: "
               "remove this key\n");
    const std::string container = "[container.a]\ncommand = [\"/r\", \"{image}\"]\n";
    const std::string image = "[[image]]\nname = \"x\"\nrun_on = \"a\"\n";
    BOOST_TEST(samples::complaints(image + "image = \"x\"\n" + container) == "");
    BOOST_TEST(samples::complaints(container + image) ==
               "p.toml:3:1: image[0].image: required, but missing\n");
    BOOST_TEST(samples::complaints(container + image + "image = \"\\n\"\n") ==
               "p.toml:6:9: image[0].image: has a control character in it\n");
}
