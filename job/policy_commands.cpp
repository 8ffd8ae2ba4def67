// SPDX-License-Identifier: Apache-2.0
#include "job/policy_table.hpp"

#include <algorithm>

#include "job/expand.hpp"
#include "job/names.hpp"
#include "job/size.hpp"

namespace batchai::job {

namespace {

using Words = std::vector<std::string>;

const Words kOfPrograms = {"{source}", "{target}", "{credentials}", "{cache}", "{uid}", "{gid}"};
const Words kOfContainers = {"{image}",    "{mount_root}", "{job_temp}", "{directory}",
                             "{shm_size}", "{env}",        "{uid}",      "{gid}"};

// "{a}, {b} and {c}".
std::string list_of(const Words& words) {
    std::string text = words.front();
    for (std::size_t i = 1; i < words.size(); ++i)
        text += (i + 1 < words.size() ? ", " : " and ") + words[i];
    return text;
}

// A key that takes only some words. Without it the default stays.
void read_word(Table& table, const std::string& key, std::string& word, const Words& words) {
    table.read(key, word);
    if (!word.empty() && std::find(words.begin(), words.end(), word) == words.end())
        table.error(
            key, "'" + word + "' is not " + (words.size() > 1 ? "one of " : "") + list_of(words));
}

// An unknown word in braces is a typing error.
ProgramPolicy read_program(Table& table, const Words& placeholders) {
    ProgramPolicy program;
    table.read("command", program.command);
    if (program.command.empty() || !is_absolute_path(program.command[0]))
        table.error("command", "expected an array: a program's absolute path and its arguments");
    for (const std::string& argument : program.command)
        if (const auto word = unknown_placeholder(argument, placeholders); !word.empty())
            table.error("command",
                        word + " is not a placeholder here: use " + list_of(placeholders));
    if (&placeholders == &kOfContainers) {
        table.read("shm_size", program.shm_size);
        if (!program.command.empty() && program.command[0].find("{env}") != std::string::npos)
            table.error("command", "{env} cannot be in the program's path");
        if (!parse_size(program.shm_size))
            table.error("shm_size", "'" + program.shm_size + "' is not a size such as 512M or 4G");
    }
    table.finish();
    return program;
}

std::map<std::string, ProgramPolicy> read_all(Table& root, const char* key,
                                              const Words& placeholders) {
    std::map<std::string, ProgramPolicy> all;
    for (Table& programs : root.table(key))
        for (const std::string& name : programs.keys()) {
            if (!is_object_name(name)) programs.error(name, "'" + name + "' is not a name");
            for (Table& table : programs.table(name)) all[name] = read_program(table, placeholders);
        }
    return all;
}

}  // namespace

std::map<std::string, ProgramPolicy> read_programs(Table& root) {
    return read_all(root, "program", kOfPrograms);
}

std::map<std::string, ProgramPolicy> read_containers(Table& root) {
    auto containers = read_all(root, "container", kOfContainers);
    if (containers.count(kHost) != 0)
        root.error("container",
                   "a container cannot have the name 'host': it stands for no container");
    return containers;
}

ImagePolicy read_image(Table& table, const std::map<std::string, ProgramPolicy>& containers) {
    ImagePolicy image;
    table.require("name", image.name);
    table.read("run_on", image.run_on);
    if (!image.in_container()) {
        if (table.has("image"))
            table.error("image",
                        "only an entry that runs in a container has an image: remove this key");
    } else {
        if (containers.count(image.run_on) == 0)
            table.error("run_on",
                        "is not \"host\" or the name of a container: there is no [container." +
                            image.run_on + "]");
        table.require("image", image.image);
        if (has_control(image.image)) table.error("image", "has a control character in it");
    }
    read_word(table, "horovod", image.horovod, {"auto", "batchai", "system"});
    read_word(table, "compat", image.compat, {"tf1"});
    table.read("say", image.say);
    table.finish();
    return image;
}

}  // namespace batchai::job
