// SPDX-License-Identifier: Apache-2.0
//
// What a job may ask of a kernel's file system client, and a file with a login: root passes them on
// to the kernel.
#include "spank/helper/root/kernel_mount.hpp"
#include "spank/helper/root/mount.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace batchai;

namespace {

// An entry that lets a job set two keys.
const job::SitePolicy& policy() {
    static const job::SitePolicy made = [] {
        std::string text;
        for (const char* entry :
             {"[[allow]]\nname = \"n\"\ntype = \"nfs\"\nsource = \"127.0.0.1:/export/data\"\n",
              "[[allow]]\nname = \"c\"\ntype = \"cifs\"\nsource = \"//127.0.0.1/share/data\"\n"})
            text += std::string(entry) +
                    "options = \"soft,rsize=1\"\nuser_options = [\"rsize\", \"timeo\"]\n";
        return job::parse_policy(text, "batchai.toml").policy.value();
    }();
    return made;
}

void must_be_the_sites(const std::vector<spank::Parameter>& parameters, const std::string& text) {
    constexpr const char* kOnce[] = {"source", "addr", "ip", "uid", "gid", "username", "password"};
    for (const char* key : kOnce)
        fuzz::must(std::ranges::count(parameters, key, &spank::Parameter::key) <= 1, "set once",
                   text);
    constexpr std::string_view kKnown[] = {
        "source", "addr", "vers",     "clientaddr", "soft",      "rsize",    "timeo", "ip",
        "uid",    "gid",  "forceuid", "forcegid",   "file_mode", "dir_mode", "sec"};
    for (const auto& [key, value, is_flag] : parameters) {
        fuzz::must(std::ranges::count(kKnown, key) == 1, "a key is the site's or permitted", key);
        if (key == "source")
            fuzz::must((value + "/").find("/../") == value.npos && value.find("127.0.0.1") < 3,
                       "a source is the site's", value);
        if (key == "uid") fuzz::must(value == "2001", "files are the user's", value);
        if (key == "sec") fuzz::must(value == "none", "the protection is the site's", value);
        fuzz::must(value.find_first_of(", \n") == value.npos || key == "source",
                   "a value is one option's", value);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    (void)spank::parse_login(text);
    const std::size_t middle = text.find('\1');
    const std::string directory = middle == text.npos ? "" : text.substr(middle + 1);
    for (const auto& allow : policy().allowed) {
        job::Mount wanted = job::mount_of(job::entry_name(allow), allow.file_system, directory);
        wanted.options = text.substr(0, middle);
        const auto mount = spank::approve(wanted, "", policy());
        if (!mount) continue;
        const auto parameters =
            mount->type == job::MountType::nfs
                ? spank::nfs_parameters(*mount, allow.file_system)
                : spank::cifs_parameters(*mount, allow.file_system, {2001, 2001, {}}, nullptr);
        fuzz::must(parameters.has_value(), "an approved mount has parameters", text);
        must_be_the_sites(*parameters, text);
    }
    return 0;
}
